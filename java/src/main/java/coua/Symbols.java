package coua;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;

/** Where libcoua is. The property {@code coua.library} is its path, if it is not installed. */
final class Symbols {
    private static final String FILE = System.getProperty("coua.library", System.mapLibraryName("coua"));
    /** Null if there is no library: an error here would be reported only once. */
    private static final SymbolLookup FOUND = find();

    private Symbols() {}

    private static SymbolLookup find() {
        try {
            return SymbolLookup.libraryLookup(FILE, Arena.global());
        } catch (IllegalArgumentException missing) {
            return null;
        }
    }

    /** Fails if there is no library. */
    static void check() {
        if (FOUND == null) {
            throw new UnsatisfiedLinkError("cannot load the C library " + FILE
                    + "; install libcoua, or name its file by -Dcoua.library=PATH");
        }
    }

    static MemorySegment find(String name) {
        return FOUND.find(name).orElseThrow(() -> new UnsatisfiedLinkError(FILE + " has no " + name + "; expected version 0.1"));
    }
}
