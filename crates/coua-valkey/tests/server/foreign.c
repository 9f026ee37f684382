/* A module of somebody else that has the command CF.RESERVE; its first argument is its name. */

typedef int run(void *context, void **words, int count);

static int reply_null(void *context, void **words, int count);
static int (*reply)(void *context);

static int reply_null(void *context, void **words, int count) {
    (void)words, (void)count;
    return reply(context);
}

int RedisModule_OnLoad(void *context, void **words, int count) {
    /* The server's functions are asked for by name, with the one at the start of the context. */
    int (*ask)(const char *name, void *function) = *(int (**)(const char *, void *))context;
    void (*name_module)(void *context, const char *name, int version, int interface);
    int (*create)(void *, const char *, run *, const char *, int, int, int);
    (void)words, (void)count;
    if (ask("RedisModule_SetModuleAttribs", &name_module) != 0 ||
        ask("RedisModule_CreateCommand", &create) != 0 ||
        ask("RedisModule_ReplyWithNull", &reply) != 0)
        return 1;
    name_module(context, "foreign", 1, 1);
    return create(context, "cf.reserve", reply_null, "readonly", 0, 0, 0);
}
