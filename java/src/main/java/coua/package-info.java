/**
 * Cuckoo filters that answer "have I seen this before?" for billions of keys in a few bytes each, over the C library
 * {@code libcoua}. Start with {@link coua.Filter}.
 */
package coua;
