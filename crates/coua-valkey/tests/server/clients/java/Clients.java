// Every call that Jedis, Lettuce and Redisson have for these filters, under RESP2 and RESP3: Clients PORT CLIENT

import io.lettuce.core.ClientOptions;
import io.lettuce.core.RedisURI;
import io.lettuce.core.probabilistic.arguments.CfInsertArgs;
import io.lettuce.core.probabilistic.arguments.CfReserveArgs;
import io.lettuce.core.protocol.ProtocolVersion;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.redisson.Redisson;
import org.redisson.api.cuckoofilter.CuckooFilterAddArgs;
import org.redisson.api.cuckoofilter.CuckooFilterInitArgs;
import org.redisson.client.codec.StringCodec;
import org.redisson.config.Config;
import org.redisson.config.Protocol;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.RedisProtocol;
import redis.clients.jedis.bloom.CFInsertParams;
import redis.clients.jedis.bloom.CFReserveParams;

public final class Clients {
    private static void is(Object found, Object expected) {
        if (!expected.equals(found)) {
            throw new AssertionError("found " + found + ", expected " + expected);
        }
    }

    private static void refuses(String text, Runnable call) {
        try {
            call.run();
        } catch (RuntimeException error) {
            if (!error.getMessage().contains(text)) {
                throw error;
            }
            return;
        }
        throw new AssertionError("not refused: " + text);
    }

    private static void jedis(int port, boolean isResp3) {
        var config = DefaultJedisClientConfig.builder().protocol(isResp3 ? RedisProtocol.RESP3 : RedisProtocol.RESP2).build();
        try (var client = RedisClient.builder().hostAndPort(new HostAndPort("localhost", port)).clientConfig(config).build()) {
            client.flushAll();
            is(client.cfReserve("cf", 1000), "OK");
            is(client.cfReserve("cf2", 1000, CFReserveParams.reserveParams().bucketSize(4).maxIterations(50).expansion(3)), "OK");
            refuses("item exists", () -> client.cfReserve("cf", 1000));
            is(client.cfAdd("cf", "a"), true);
            is(client.cfAddNx("cf", "a"), false);
            is(client.cfAddNx("cf", "b"), true);
            is(client.cfInsert("cf", "c", "d"), List.of(true, true));
            is(client.cfInsert("cf3", CFInsertParams.insertParams().capacity(500), "c"), List.of(true));
            refuses("not found", () -> client.cfInsert("none", CFInsertParams.insertParams().noCreate(), "c"));
            is(client.cfInsertNx("cf", "d", "e"), List.of(false, true));
            is(client.cfInsertNx("cf", CFInsertParams.insertParams().noCreate(), "e"), List.of(false));
            is(client.cfExists("cf", "a"), true);
            is(client.cfExists("cf", "x"), false);
            is(client.cfMExists("cf", "a", "x"), List.of(true, false));
            is(client.cfCount("cf", "a"), 1L);
            is(client.cfDel("cf", "a"), true);
            is(client.cfDel("cf", "a"), false);
            is(client.cfInfo("cf2").get("Bucket size"), 4L);
            is(client.cfInfo("cf2").get("Max iterations"), 50L);
            for (long position = 0;;) {
                var chunk = client.cfScanDump("cf", position);
                position = chunk.getKey();
                if (position == 0) break;
                is(client.cfLoadChunk("cf4", position, chunk.getValue()), "OK");
            }
            is(client.cfMExists("cf4", "a", "b", "c"), List.of(false, true, true));
        }
    }

    private static void lettuce(int port, boolean isResp3) {
        var version = isResp3 ? ProtocolVersion.RESP3 : ProtocolVersion.RESP2;
        var redis = io.lettuce.core.RedisClient.create(RedisURI.create("localhost", port));
        redis.setOptions(ClientOptions.builder().protocolVersion(version).build());
        try (redis; var connection = redis.connect()) {
            var client = connection.sync();
            client.flushall();
            is(client.cfReserve("cf", 1000), "OK");
            is(client.cfReserve("cf2", 1000, new CfReserveArgs().bucketSize(4).maxIterations(50).expansion(3)), "OK");
            refuses("item exists", () -> client.cfReserve("cf", 1000));
            is(client.cfAdd("cf", "a"), true);
            is(client.cfAddNx("cf", "a"), false);
            is(client.cfAddNx("cf", "b"), true);
            is(client.cfInsert("cf", "c", "d"), List.of(true, true));
            is(client.cfInsert("cf", "c2"), List.of(true));
            is(client.cfInsert("cf3", new CfInsertArgs().capacity(500), "c"), List.of(true));
            is(client.cfInsert("cf3", new CfInsertArgs().capacity(500), "d", "e"), List.of(true, true));
            refuses("not found", () -> client.cfInsert("none", new CfInsertArgs().noCreate(), "c"));
            is(client.cfInsertNx("cf", "d", "e"), List.of(false, true));
            is(client.cfInsertNx("cf", "e"), List.of(false));
            is(client.cfInsertNx("cf", new CfInsertArgs().noCreate(), "e"), List.of(false));
            is(client.cfInsertNx("cf", new CfInsertArgs().noCreate(), "e", "d"), List.of(false, false));
            is(client.cfExists("cf", "a"), true);
            is(client.cfExists("cf", "x"), false);
            is(client.cfMExists("cf", "a", "x"), List.of(true, false));
            is(client.cfCount("cf", "a"), 1L);
            is(client.cfDel("cf", "a"), true);
            is(client.cfDel("cf", "a"), false);
            var info = client.cfInfo("cf2");
            is(List.of(info.getBucketSize(), info.getMaxIterations(), info.getExpansionRate()), List.of(4L, 50L, 3L));
            is(List.of(info.getNumberOfFilters(), info.getNumberOfItemsInserted(), info.getNumberOfItemsDeleted()), List.of(1L, 0L, 0L));
            is(info.getSize() > 0 && info.getNumberOfBuckets() > 0, true);
            for (long position = 0;;) {
                var chunk = client.cfScanDump("cf", position);
                position = chunk.getIterator();
                if (position == 0) break;
                is(client.cfLoadChunk("cf4", position, chunk.getData()), "OK");
            }
            is(client.cfMExists("cf4", "a", "b", "c"), List.of(false, true, true));
        }
    }

    private static void redisson(int port, boolean isResp3) {
        var config = new Config();
        config.setProtocol(isResp3 ? Protocol.RESP3 : Protocol.RESP2);
        config.useSingleServer().setAddress("redis://localhost:" + port).setConnectionMinimumIdleSize(1).setConnectionPoolSize(2);
        var client = Redisson.create(config);
        try {
            client.getKeys().flushall();
            var cf = client.<String>getCuckooFilter("cf", StringCodec.INSTANCE);
            cf.init(1000);
            refuses("item exists", () -> cf.init(1000));
            is(cf.add("a"), true);
            is(cf.addIfAbsent("a"), false);
            is(cf.addIfAbsent("b"), true);
            is(new TreeSet<>(cf.add(CuckooFilterAddArgs.items(List.of("c", "d")))), new TreeSet<>(Set.of("c", "d")));
            is(cf.addIfAbsent(CuckooFilterAddArgs.items(List.of("d", "e"))), Set.of("e"));
            is(cf.exists("a"), true);
            is(cf.exists("x"), false);
            is(cf.exists(List.of("a", "x")), Set.of("a"));
            is(cf.count("a"), 1L);
            is(cf.remove("a"), true);
            is(cf.remove("a"), false);
            var cf2 = client.<String>getCuckooFilter("cf2", StringCodec.INSTANCE);
            cf2.init(CuckooFilterInitArgs.capacity(1000).bucketSize(4).maxIterations(50).expansion(3));
            var info = cf2.getInfo();
            is(List.of(info.getBucketSize(), info.getMaxIterations(), info.getExpansionRate()), List.of(4L, 50L, 3L));
        } finally {
            client.shutdown();
        }
    }

    public static void main(String[] arguments) {
        int port = Integer.parseInt(arguments[0]);
        for (boolean isResp3 : new boolean[] {false, true}) {
            switch (arguments[1]) {
                case "jedis" -> jedis(port, isResp3);
                case "lettuce" -> lettuce(port, isResp3);
                case "redisson" -> redisson(port, isResp3);
                default -> throw new IllegalArgumentException(arguments[1]);
            }
        }
    }
}
