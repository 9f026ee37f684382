/* Between the program and the C library: makes one step on regular files or folders fail, and tells all steps.
 *
 * COUA_FAULT_LOG=FILE   every step is written there: a letter for the call, a blank, the file's name
 * COUA_FAULT_CALL=xyz   only these calls fail: write, sync, truncate, rename, unlink, lock; open and sync of
 *                       a folder (by the letters w s t r u l o d)
 * COUA_FAULT_NAME=END   only on files whose names end so
 * COUA_FAULT_AT=N       the N-th of those steps fails (from 0), and every later one of them too if
 * COUA_FAULT_ON=1       is set
 * COUA_FAULT_ERROR=E    with this error number; 0: a write does its first half and says so
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static atomic_long steps;

static int ends(const char *name, const char *end)
{
    size_t length = strlen(name), wanted = strlen(end);
    return length >= wanted && strcmp(name + length - wanted, end) == 0;
}

static void tell(char call, const char *name)
{
    const char *log = getenv("COUA_FAULT_LOG");
    if (!log)
        return;
    ssize_t (*real)(int, const void *, size_t) = dlsym(RTLD_NEXT, "write");
    char line[4200];
    int length = snprintf(line, sizeof line, "%c %s\n", call, name);
    int fd = open(log, O_WRONLY | O_APPEND | O_CREAT, 0600);
    if (fd >= 0) {
        if (real(fd, line, length) != length)
            abort();
        close(fd);
    }
}

/* Whether this step is to fail. */
static int fails(char call, const char *name)
{
    const char *calls = getenv("COUA_FAULT_CALL");
    const char *wanted = getenv("COUA_FAULT_NAME"), *at = getenv("COUA_FAULT_AT");
    tell(call, name);
    if (!at || (calls && !strchr(calls, call)) || (wanted && !ends(name, wanted)))
        return 0;
    long number = atomic_fetch_add(&steps, 1);
    return number == atol(at) || (number > atol(at) && getenv("COUA_FAULT_ON"));
}

/* Whether a step on a regular file or a folder is to fail. */
static int fails_on(char call, int fd)
{
    struct stat found;
    char link[64], name[4096];
    if (fstat(fd, &found) || !(S_ISREG(found.st_mode) || S_ISDIR(found.st_mode)))
        return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, name, sizeof name - 1);
    name[length < 0 ? 0 : length] = 0;
    return fails(S_ISDIR(found.st_mode) && call == 's' ? 'd' : call, name);
}

static int is_folder(int fd)
{
    struct stat found;
    return !fstat(fd, &found) && S_ISDIR(found.st_mode);
}

static int error(void)
{
    const char *number = getenv("COUA_FAULT_ERROR");
    return number ? atoi(number) : EIO;
}

static int failed(void)
{
    errno = error() ? error() : EIO;
    return -1;
}

int open64(const char *name, int flags, ...)
{
    int (*real)(const char *, int, ...) = dlsym(RTLD_NEXT, "open64");
    va_list more;
    va_start(more, flags);
    int fd = real(name, flags, flags & O_CREAT ? va_arg(more, mode_t) : 0);
    va_end(more);
    if (fd < 0 || !is_folder(fd) || !fails_on('o', fd))
        return fd;
    close(fd);
    return failed();
}

ssize_t write(int fd, const void *bytes, size_t count)
{
    ssize_t (*real)(int, const void *, size_t) = dlsym(RTLD_NEXT, "write");
    if (!fails_on('w', fd))
        return real(fd, bytes, count);
    return error() ? failed() : real(fd, bytes, (count + 1) / 2);
}

ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t at)
{
    ssize_t (*real)(int, const void *, size_t, off64_t) = dlsym(RTLD_NEXT, "pwrite64");
    if (!fails_on('w', fd))
        return real(fd, bytes, count, at);
    return error() ? failed() : real(fd, bytes, (count + 1) / 2, at);
}

int fsync(int fd)
{
    int (*real)(int) = dlsym(RTLD_NEXT, "fsync");
    return fails_on('s', fd) ? failed() : real(fd);
}

int fdatasync(int fd)
{
    int (*real)(int) = dlsym(RTLD_NEXT, "fdatasync");
    return fails_on('s', fd) ? failed() : real(fd);
}

int ftruncate64(int fd, off64_t length)
{
    int (*real)(int, off64_t) = dlsym(RTLD_NEXT, "ftruncate64");
    return fails_on('t', fd) ? failed() : real(fd, length);
}

int rename(const char *from, const char *to)
{
    int (*real)(const char *, const char *) = dlsym(RTLD_NEXT, "rename");
    return fails('r', to) ? failed() : real(from, to);
}

int unlink(const char *name)
{
    int (*real)(const char *) = dlsym(RTLD_NEXT, "unlink");
    return fails('u', name) ? failed() : real(name);
}

int flock(int fd, int operation)
{
    int (*real)(int, int) = dlsym(RTLD_NEXT, "flock");
    return fails_on('l', fd) ? failed() : real(fd, operation);
}
