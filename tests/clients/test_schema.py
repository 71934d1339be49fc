"""The schema as Debian's python3-cassandra sees it: types, keys, options, what is altered."""
import datetime

import cassandra
import cassandra.protocol
import pytest

EVERY_TYPE = {
    "ascii": None, "bigint": None, "blob": None, "boolean": None, "date": None, "decimal": None,
    "double": None, "duration": None, "float": None, "inet": None, "int": None, "smallint": None,
    "varchar": "text", "time": None, "timestamp": None, "timeuuid": None, "tinyint": None,
    "uuid": None, "varint": None,
    "list<int>": None, "set<text>": None, "map<text, timestamp>": None,
    "frozen<list<int>>": None, "frozen<map<text, list<int>>>": "frozen<map<text, frozen<list<int>>>>",
    "tuple<int, text>": "frozen<tuple<int, text>>", "list<frozen<tuple<int, text>>>": None,
    "point": None, "frozen<point>": None, "frozen<line>": None, "map<int, frozen<line>>": None,
    "vector<float, 3>": None,
}
COMPACTION, COMPRESSION = "org.apache.cassandra.db.compaction.", "org.apache.cassandra.io.compress."
DEFAULTS = {
    "additional_write_policy": "99p", "allow_auto_snapshot": None, "bloom_filter_fp_chance": 0.01,
    "caching": {"keys": "ALL", "rows_per_partition": "NONE"}, "cdc": None, "comment": "",
    "compaction": {"class": COMPACTION + "SizeTieredCompactionStrategy", "max_threshold": "32",
                   "min_threshold": "4"},
    "compression": {"chunk_length_in_kb": "16", "class": COMPRESSION + "LZ4Compressor"},
    "crc_check_chance": 1.0, "default_time_to_live": 0, "extensions": {}, "gc_grace_seconds": 864000,
    "incremental_backups": None, "max_index_interval": 2048, "memtable": None,
    "memtable_flush_period_in_ms": 0, "min_index_interval": 128, "read_repair": "BLOCKING",
    "speculative_retry": "99p", "read_repair_chance": 0, "dclocal_read_repair_chance": 0,
}
# What is written, and the columns of system_schema.tables that it changes.
OPTIONS = [
    ("additional_write_policy = 'always'", {"additional_write_policy": "ALWAYS"}),
    ("allow_auto_snapshot = false", {"allow_auto_snapshot": False}),
    ("bloom_filter_fp_chance = 0.25", {"bloom_filter_fp_chance": 0.25}),
    ("caching = {'keys': 'none', 'rows_per_partition': 10}",
     {"caching": {"keys": "NONE", "rows_per_partition": "10"}}),
    ("cdc = true", {"cdc": True}),
    ("comment = 'it''s'", {"comment": "it's"}),
    ("compaction = {'class': 'LeveledCompactionStrategy', 'sstable_size_in_mb': 64}",
     {"compaction": {"class": COMPACTION + "LeveledCompactionStrategy", "sstable_size_in_mb": "64",
                     "max_threshold": "32", "min_threshold": "4"}, "bloom_filter_fp_chance": 0.1}),
    ("compaction = {'class': 'UnifiedCompactionStrategy', 'scaling_parameters': 'T4'}",
     {"compaction": {"class": COMPACTION + "UnifiedCompactionStrategy",
                     "scaling_parameters": "T4"}}),
    ("compression = {'class': 'ZstdCompressor', 'compression_level': 7, 'chunk_length_in_kb': 64}",
     {"compression": {"class": COMPRESSION + "ZstdCompressor", "compression_level": "7",
                      "chunk_length_in_kb": "64"}}),
    ("compression = {'enabled': false}", {"compression": {"enabled": "false"}}),
    ("crc_check_chance = 0.5", {"crc_check_chance": 0.5}),
    ("default_time_to_live = 60", {"default_time_to_live": 60}),
    ("extensions = {'a': 0x00ff, 'b': 0x}", {"extensions": {"a": b"\x00\xff", "b": b""}}),
    ("gc_grace_seconds = 60", {"gc_grace_seconds": 60}),
    ("incremental_backups = false", {"incremental_backups": False}),
    ("max_index_interval = 4096", {"max_index_interval": 4096}),
    ("memtable = 'default'", {}),
    ("memtable_flush_period_in_ms = 1000", {"memtable_flush_period_in_ms": 1000}),
    ("min_index_interval = 64", {"min_index_interval": 64}),
    ("read_repair = 'none'", {"read_repair": "NONE"}),
    ("speculative_retry = 'min(50ms, 99.90percentile)'", {"speculative_retry": "MIN(99.9p,50ms)"}),
]


@pytest.fixture(scope="module")
def made(session):
    """A keyspace of this module's own, one for each protocol, with two user types."""
    name = f"schema{session.version}"
    session.execute(f"CREATE KEYSPACE IF NOT EXISTS {name} WITH replication = "
                    "{'class': 'SimpleStrategy', 'replication_factor': 3}")
    session.execute(f"CREATE TYPE IF NOT EXISTS {name}.point (x int, y frozen<list<int>>)")
    session.execute(f"CREATE TYPE IF NOT EXISTS {name}.line "
                    "(a frozen<point>, b frozen<point>, tags set<text>)")
    session.set_keyspace(name)
    return name


def known(session, keyspace):
    session.cluster.refresh_schema_metadata()
    return session.cluster.metadata.keyspaces[keyspace]


def options(session, keyspace, table):
    row = session.execute("SELECT * FROM system_schema.tables WHERE keyspace_name = %s AND "
                          "table_name = %s", (keyspace, table)).one()._asdict()
    assert (row.pop("keyspace_name"), row.pop("table_name")) == (keyspace, table)
    assert set(row.pop("flags")) == {"compound"} and row.pop("id")
    return {k: dict(v) if hasattr(v, "items") else v for k, v in row.items()}


def test_a_column_of_every_type_is_known_as_it_is(session, made):
    columns = ", ".join(f'"{t}" {t}' for t in EVERY_TYPE)
    session.execute(f"CREATE TABLE IF NOT EXISTS every_type (k int, c int, {columns}, "
                    "PRIMARY KEY (k, c))")
    table = known(session, made).tables["every_type"]
    for written, shown in EVERY_TYPE.items():
        assert table.columns[written].cql_type == (shown or written)
    names = ["k", "c"] + sorted(EVERY_TYPE)
    assert list(session.execute("SELECT * FROM every_type").column_names) == names


def test_user_types_are_known_with_their_fields(session, made):
    types = known(session, made).user_types
    assert types["point"].field_names == ["x", "y"]
    assert list(types["point"].field_types) == ["int", "frozen<list<int>>"]
    assert list(types["line"].field_types) == ["frozen<point>", "frozen<point>", "set<text>"]
    assert "CREATE TYPE" in types["line"].as_cql_query()


def test_keys_orders_and_statics_are_known(session, made):
    session.execute('CREATE TABLE IF NOT EXISTS keys (a int, "B" frozen<set<text>>, c frozen<point>, '
                    "d tuple<int, int>, s list<int> STATIC, z int, PRIMARY KEY ((a, \"B\"), c, d)) "
                    "WITH CLUSTERING ORDER BY (c DESC, d ASC)")
    table = known(session, made).tables["keys"]
    assert [c.name for c in table.partition_key] == ["a", "B"]
    assert [(c.name, c.is_reversed) for c in table.clustering_key] == [("c", True), ("d", False)]
    assert table.columns["s"].is_static and not table.columns["z"].is_static
    assert not table.is_compact_storage
    made_again = table.as_cql_query().replace(f"{made}.keys", f"{made}.keys_again")
    session.execute("DROP TABLE IF EXISTS keys_again")
    session.execute(made_again)
    again = known(session, made).tables["keys_again"]
    assert again.as_cql_query().replace("keys_again", "keys") == table.as_cql_query()


@pytest.mark.parametrize("at", range(len(OPTIONS)), ids=lambda at: OPTIONS[at][0].split(" =")[0])
def test_an_option_is_shown_as_cassandra_shows_it(session, made, at):
    written, changed = OPTIONS[at]
    session.execute(f"CREATE TABLE IF NOT EXISTS option{at} (k int PRIMARY KEY) WITH {written}")
    assert options(session, made, f"option{at}") == {**DEFAULTS, **changed}
    text = known(session, made).tables[f"option{at}"].export_as_string()  # the driver's own words
    assert text.startswith("CREATE TABLE")
    session.execute(f"CREATE TABLE IF NOT EXISTS altered{at} (k int PRIMARY KEY)")
    session.execute(f"ALTER TABLE altered{at} WITH {written}")
    if "Leveled" in written:
        changed = {**changed, "bloom_filter_fp_chance": 0.01}  # it was there before the class
    assert options(session, made, f"altered{at}") == {**DEFAULTS, **changed}


def test_counters_are_known(session, made):
    session.execute("CREATE TABLE IF NOT EXISTS counters (k int PRIMARY KEY, n counter)")
    table = known(session, made).tables["counters"]
    assert table.columns["n"].cql_type == "counter"
    row = session.execute("SELECT flags FROM system_schema.tables WHERE keyspace_name = %s AND "
                          "table_name = 'counters'", (made,)).one()
    assert set(row.flags) == {"compound", "counter"}


def test_alterations_reach_the_driver_by_events(session, made):
    session.execute("DROP TABLE IF EXISTS alters")
    session.execute("CREATE TABLE alters (k int, c int, v int, w text, PRIMARY KEY (k, c))")
    for text in ("ALTER TABLE alters ADD (x list<int>, s int STATIC)",
                 "ALTER TABLE alters DROP w USING TIMESTAMP 1234567",
                 "ALTER TABLE alters RENAME k TO key AND c TO place"):
        session.execute(text)
    table = session.cluster.metadata.keyspaces[made].tables["alters"]  # refreshed by the answers
    assert set(table.columns) == {"key", "place", "v", "x", "s"}
    assert table.columns["x"].cql_type == "list<int>" and table.columns["s"].is_static
    dropped = session.execute("SELECT * FROM system_schema.dropped_columns WHERE keyspace_name = %s "
                              "AND table_name = 'alters'", (made,)).one()
    assert (dropped.column_name, dropped.kind, dropped.type) == ("w", "regular", "text")
    assert dropped.dropped_time == datetime.datetime(1970, 1, 1, 0, 0, 1, 234000)


def test_altered_types_are_others_in_their_tables(session, made):
    session.execute("DROP TABLE IF EXISTS typed")
    session.execute("DROP TYPE IF EXISTS grown")
    session.execute("CREATE TYPE grown (x int)")
    session.execute("CREATE TABLE typed (k int PRIMARY KEY, v frozen<grown>)")
    insert = session.prepare("INSERT INTO typed (k, v) VALUES (?, ?)")
    session.execute(insert, (1, (7,)))
    session.execute("ALTER TYPE grown ADD y text")
    session.execute("ALTER TYPE grown RENAME x TO z")
    assert known(session, made).user_types["grown"].field_names == ["z", "y"]
    assert tuple(session.execute("SELECT v FROM typed WHERE k = 1").one().v) == (7, None)
    again = session.prepare("INSERT INTO typed (k, v) VALUES (?, ?) ")
    session.execute(again, (2, (8, "new")))
    assert tuple(session.execute("SELECT v FROM typed WHERE k = 2").one().v) == (8, "new")
    with pytest.raises(cassandra.InvalidRequest, match="still used by table typed"):
        session.execute("DROP TYPE grown")
    session.execute("DROP TABLE typed")
    session.execute("DROP TYPE grown")
    assert "grown" not in known(session, made).user_types


def test_a_prepared_statement_follows_its_table(session, made):
    session.execute("DROP TABLE IF EXISTS follows")
    session.execute("CREATE TABLE follows (k int PRIMARY KEY, a int, b text)")
    insert = session.prepare("INSERT INTO follows (k, a, b) VALUES (?, ?, ?)")
    select = session.prepare("SELECT * FROM follows WHERE k = ?")
    session.execute(insert, (1, 2, "b"))
    assert tuple(session.execute(select, (1,)).one()) == (1, 2, "b")
    session.execute("ALTER TABLE follows ADD aa int")
    assert tuple(session.execute(select, (1,)).one()) == (1, 2, None, "b")
    session.execute(insert, (1, 3, "c"))
    session.execute("ALTER TABLE follows DROP a")
    row = session.execute(select, (1,)).one()
    assert tuple(row) == (1, None, "c") and row._fields == ("k", "aa", "b")
    with pytest.raises(cassandra.InvalidRequest):  # it names a column that is gone
        session.execute(insert, (1, 4, "d"))


def test_keyspaces_are_altered(session, made):
    session.execute(f"ALTER KEYSPACE {made} WITH durable_writes = false")
    assert known(session, made).durable_writes is False
    session.execute(f"ALTER KEYSPACE {made} WITH replication = "
                    "{'class': 'NetworkTopologyStrategy', 'datacenter1': 3}")
    keyspace = known(session, made)
    assert keyspace.durable_writes is False
    assert keyspace.replication_strategy.export_for_schema() == (
        "{'class': 'NetworkTopologyStrategy', 'datacenter1': '3'}")
    session.execute(f"ALTER KEYSPACE {made} WITH durable_writes = true")


@pytest.mark.parametrize("text,error", [
    ("CREATE TABLE x (k int PRIMARY KEY) WITH warp = 9", cassandra.protocol.SyntaxException),
    ("CREATE TABLE x (k int PRIMARY KEY) WITH gc_grace_seconds = soon",
     cassandra.protocol.SyntaxException),
    ("CREATE TABLE x (k int PRIMARY KEY) WITH gc_grace_seconds = -1",
     cassandra.protocol.ConfigurationException),
    ("CREATE TABLE x (k int PRIMARY KEY) WITH compaction = {'class': 'Best'}",
     cassandra.protocol.ConfigurationException),
    ("CREATE TABLE x (k int PRIMARY KEY, v nothing)", cassandra.InvalidRequest),
    ("CREATE TYPE point (x int)", cassandra.InvalidRequest),
    ("DROP TYPE point", cassandra.InvalidRequest),
])
def test_refusals_have_cassandras_class(session, made, text, error):
    with pytest.raises(error):
        session.execute(text)


@pytest.mark.parametrize("given,words", [
    ("'class': 'Best'", ["unknown class 'Best'", "TimeWindowCompactionStrategy"]),
    ("'enabled': true", ["'class' is missing"]),
    ("'class': 'UnifiedCompactionStrategy', 'min_threshold': 4",
     ["has no option 'min_threshold'", "scaling_parameters"]),
    ("'class': 'SizeTieredCompactionStrategy', 'scaling_parameters': 'T4'",
     ["has no option 'scaling_parameters'", "max_threshold"]),
    ("'class': 'UnifiedCompactionStrategy', 'scaling_parameters': 'T1'",
     ["scaling_parameters", "'T1'", "T4, L10, N, -8"]),
    ("'class': 'LeveledCompactionStrategy', 'fanout_size': 0", ["fanout_size", "1 or more", "'0'"]),
    ("'class': 'SizeTieredCompactionStrategy', 'min_threshold': 9, 'max_threshold': 8",
     ["min_threshold (9)", "max_threshold (8)"]),
])
def test_a_wrong_compaction_is_refused_with_what_is_allowed(session, made, given, words):
    session.execute("CREATE TABLE IF NOT EXISTS steady (k int PRIMARY KEY)")
    for statement in ("CREATE TABLE x (k int PRIMARY KEY)", "ALTER TABLE steady"):
        with pytest.raises(cassandra.protocol.ConfigurationException) as refusal:
            session.execute(f"{statement} WITH compaction = {{{given}}}")
        assert all(word in str(refusal.value) for word in words), refusal.value
    assert options(session, made, "steady")["compaction"] == DEFAULTS["compaction"]


def test_a_table_gets_the_nodes_default_compaction():
    from conftest import connect
    from ring import Ring
    with Ring(nodes=1, shards=2, default_compaction={
            "class_name": "UnifiedCompactionStrategy",
            "parameters": {"scaling_parameters": "T4", "base_shard_count": "2"}}) as ring:
        cluster = connect(ring, 5)
        session = cluster.connect()
        session.execute("CREATE KEYSPACE d WITH replication = "
                        "{'class': 'SimpleStrategy', 'replication_factor': 1}")
        session.execute("CREATE TABLE d.t (k int PRIMARY KEY)")
        assert options(session, "d", "t")["compaction"] == {
            "class": COMPACTION + "UnifiedCompactionStrategy", "scaling_parameters": "T4",
            "base_shard_count": "2"}
        cluster.shutdown()
