// npm's cassandra-driver 4.8.0, unchanged, on a ring of three that tests/lib/ring.py has started:
// RONDO_HOSTS are its addresses, RONDO_CONTROL kills and restarts its nodes.  A line per test.
'use strict';
const assert = require('assert').strict;
const http = require('http');
const cassandra = require('cassandra-driver');
const { types } = cassandra;
const { consistencies, responseErrorCodes: codes } = types;

const hosts = process.env.RONDO_HOSTS.split(',');
const replication = n => `{'class': 'SimpleStrategy', 'replication_factor': ${n}}`;
const clients = [];

function connect(more) {
  const client = new cassandra.Client({
    contactPoints: [hosts[0]],
    localDataCenter: 'datacenter1',
    queryOptions: { consistency: consistencies.quorum }, // sees what it wrote on any node
    socketOptions: { readTimeout: 30000 },
    ...more,
  });
  clients.push(client);
  return client;
}

function control(words) {
  return new Promise((resolve, reject) => {
    http
      .get(`${process.env.RONDO_CONTROL}/${words.join('/')}`, { agent: false }, answer => {
        answer.resume();
        answer.on('end', () =>
          answer.statusCode === 200 ? resolve() : reject(new Error(words.join(' '))),
        );
      })
      .on('error', reject);
  });
}

async function until(what) {
  const end = Date.now() + 60000;
  for (;;) {
    const said = await what();
    if (said) return said;
    assert(Date.now() < end, `not within a minute: ${what}`);
    await new Promise(resolve => setTimeout(resolve, 20));
  }
}

async function fails(promise, code, text) {
  const error = await promise.then(
    () => assert.fail('it went well'),
    e => e,
  );
  assert.equal(error.name, 'ResponseError', String(error));
  assert.equal(error.code, code, error.message);
  if (text) assert.match(error.message, text);
  return error;
}

const tests = [];
const test = (name, run) => tests.push({ name, run });
let client;

test('connects with a local data centre and discovers the other two', async () => {
  client = connect();
  await client.connect();
  const known = client.hosts.values();
  assert.deepEqual(known.map(h => h.address.split(':')[0]).sort(), [...hosts].sort());
  for (const host of known) {
    assert.equal(host.datacenter, 'datacenter1');
    assert.equal(host.rack, 'rack1');
    assert.equal(host.tokens.length, 16);
    assert(host.hostId instanceof types.Uuid);
  }
  await client.execute(`CREATE KEYSPACE n WITH replication = ${replication(3)}`);
});

test('a wrong local data centre is noticed', async () => {
  const error = await connect({ localDataCenter: 'elsewhere' })
    .connect()
    .then(
      () => null,
      e => e,
    );
  assert(error && /elsewhere/.test(error.message), String(error));
});

test('parameters are bound with and without PREPARE, by position and by name', async () => {
  await client.execute('CREATE TABLE n.bind (a text, b int, c bigint, PRIMARY KEY (a, b))');
  const insert = 'INSERT INTO n.bind (a, b, c) VALUES (?, ?, ?)';
  await client.execute(insert, ['x', 1, 10], { hints: ['text', 'int', 'bigint'] });
  await client.execute(insert, ['x', 2, 20], { prepare: true });
  await client.execute(
    'INSERT INTO n.bind (a, b, c) VALUES (:key, :place, :value)',
    { key: 'x', place: 3, value: 30 },
    { prepare: true },
  );
  await client.execute(
    'INSERT INTO n.bind (a, b, c) VALUES (:key, :place, :value)',
    { key: 'x', place: 4, value: 40 },
    { hints: { key: 'text', place: 'int', value: 'bigint' } },
  );
  const got = await client.execute('SELECT b, c FROM n.bind WHERE a = ?', ['x'], { prepare: true });
  assert.deepEqual(
    got.rows.map(r => [r.b, Number(r.c)]),
    [
      [1, 10],
      [2, 20],
      [3, 30],
      [4, 40],
    ],
  );
});

test('every scalar type comes back as it was sent', async () => {
  const values = {
    ascii: 'plain',
    bigint: types.Long.fromString('-9223372036854775808'),
    blob: Buffer.from([0, 255]),
    boolean: true,
    decimal: types.BigDecimal.fromString('-123.450'),
    double: 1.5e300,
    float: 0.5,
    int: -2147483648,
    timestamp: new Date(Date.UTC(2024, 1, 29, 12, 0, 0, 123)),
    uuid: types.Uuid.random(),
    text: 'Zürich ☃',
    varint: types.Integer.fromString(
      '1606938044258990275541962092341162602522202993782792835301376',
    ),
    timeuuid: types.TimeUuid.now(),
    inet: types.InetAddress.fromString('2001:db8::1'),
    date: types.LocalDate.fromString('2024-02-29'),
    time: types.LocalTime.fromString('23:59:59.999999999'),
    smallint: -32768,
    tinyint: -128,
  };
  const names = Object.keys(values);
  const columns = names.map(t => `c_${t}`);
  await client.execute(
    `CREATE TABLE n.types (k int PRIMARY KEY, ${names.map(t => `c_${t} ${t}`).join(', ')})`,
  );
  const marks = names.map(() => '?').join(', ');
  const insert = `INSERT INTO n.types (k, ${columns.join(', ')}) VALUES (?, ${marks})`;
  await client.execute(insert, [1, ...Object.values(values)], { prepare: true });
  await client.execute(insert, [2, ...names.map(() => null)], { prepare: true });
  const ask = async k =>
    (
      await client.execute(`SELECT ${columns.join(', ')} FROM n.types WHERE k = ?`, [k], {
        prepare: true,
      })
    ).first();
  const got = await ask(1);
  for (const t of names) {
    const sent = values[t],
      back = got[`c_${t}`];
    const same = sent.equals ? sent.equals(back) : JSON.stringify(sent) === JSON.stringify(back);
    assert(same, `${t}: ${sent} came back as ${back}`);
  }
  const none = await ask(2);
  for (const c of columns) assert.equal(none[c], null);
});

test('10,000 rows come page by page, each once: fetchSize 1, 7 and 100', async () => {
  const total = 10000;
  await client.execute('CREATE TABLE n.pages (k int, c int, v text, PRIMARY KEY (k, c))');
  await cassandra.concurrent.executeConcurrent(
    client,
    'INSERT INTO n.pages (k, c, v) VALUES (?, ?, ?)',
    Array.from({ length: total }, (_, i) => [i % 100, i, `value ${i}`]),
  );
  const select = 'SELECT k, c FROM n.pages';
  const check = (seen, how) => {
    assert.equal(seen.length, total, how);
    assert.equal(new Set(seen.map(r => r.c)).size, total, how);
    for (const r of seen) assert.equal(r.k, r.c % 100, how);
  };
  const iterated = [];
  for await (const row of await client.execute(select, [], { prepare: true, fetchSize: 1 }))
    iterated.push(row);
  check(iterated, 'iterator');
  const streamed = [];
  for await (const row of client.stream(select, [], {
    prepare: true,
    fetchSize: 7,
    autoPage: true,
  }))
    streamed.push(row);
  check(streamed, 'stream');
  const each = [];
  await new Promise((resolve, reject) =>
    client.eachRow(
      select,
      [],
      { prepare: true, fetchSize: 100, autoPage: true },
      (n, row) => each.push(row),
      e => (e ? reject(e) : resolve()),
    ),
  );
  check(each, 'eachRow');
  const first = await client.execute(select, [], { prepare: true, fetchSize: 100 });
  const second = await client.execute(select, [], {
    prepare: true,
    fetchSize: 100,
    pageState: first.pageState,
  });
  assert.equal(new Set([...first.rows, ...second.rows].map(r => r.c)).size, 200);
});

test('its tokens and ours agree, at every tail length, with bytes of 0x80 and above', async () => {
  await client.execute('CREATE TABLE n.tokens (k blob PRIMARY KEY, v int)');
  const keys = [
    '00',
    '80',
    'ff',
    'ffffffff',
    '313233',
    'c3a9',
    '004acfdfc9cfb411bb5d0426632618c4',
    'fff2e5d8cbbeb1a4978afdf0e3d6c9',
  ].map(h => Buffer.from(h, 'hex'));
  for (let n = 1; n <= 32; n++)
    keys.push(Buffer.from(Array.from({ length: n }, (_, i) => ((0x85 + 11 * i) % 128) + 128)));
  for (const key of keys) {
    await client.execute('INSERT INTO n.tokens (k, v) VALUES (?, 1)', [key], { prepare: true });
    const got = await client.execute('SELECT token(k) AS t FROM n.tokens WHERE k = ?', [key], {
      prepare: true,
    });
    assert.equal(
      got.first().t.toString(),
      client.metadata.newToken(key).toString(),
      key.toString('hex'),
    );
  }
});

test('requests go to a replica of their key', async () => {
  await client.execute(`CREATE KEYSPACE single WITH replication = ${replication(1)}`);
  await client.execute('CREATE TABLE single.t (k int PRIMARY KEY)');
  const asked = new Set();
  for (let k = 0; k < 60; k++) {
    const got = await client.execute('INSERT INTO single.t (k) VALUES (?)', [k], { prepare: true });
    const key = Buffer.alloc(4);
    key.writeInt32BE(k);
    const replicas = client.metadata.getReplicas('single', key).map(h => h.address);
    assert.deepEqual(replicas, [got.info.queriedHost]);
    asked.add(got.info.queriedHost);
  }
  assert.equal(asked.size, 3);
});

test('errors have the codes that the protocol gives them', async () => {
  await fails(client.execute('SELEC * FROM n.bind'), codes.syntaxError, /1:/);
  await fails(client.execute('SELECT * FROM n.nothing_here'), codes.invalid, /does not exist/);
  await fails(client.execute('SELECT * FROM nowhere.t'), codes.invalid, /does not exist/);
  await fails(client.execute('SELECT nothing FROM n.bind'), codes.invalid, /nothing/);
  await fails(client.execute('USE nowhere'), codes.invalid, /does not exist/);
  const there = await fails(
    client.execute('CREATE TABLE n.bind (k int PRIMARY KEY)'),
    codes.alreadyExists,
  );
  assert.deepEqual([there.keyspace, there.table], ['n', 'bind']);
});

test('a statement whose table was made anew is prepared again', async () => {
  await client.execute('CREATE TABLE n.again (k int PRIMARY KEY, v int)');
  await client.execute('INSERT INTO n.again (k, v) VALUES (?, ?)', [1, 1], { prepare: true });
  await client.execute('DROP TABLE n.again');
  await client.execute('CREATE TABLE n.again (k int PRIMARY KEY, v int)');
  await client.execute('INSERT INTO n.again (k, v) VALUES (?, ?)', [1, 2], { prepare: true });
  assert.equal((await client.execute('SELECT v FROM n.again WHERE k = 1')).first().v, 2);
});

test('batches, prepared and not', async () => {
  await client.execute('CREATE TABLE n.batches (k int, c int, v text, PRIMARY KEY (k, c))');
  const insert = 'INSERT INTO n.batches (k, c, v) VALUES (?, ?, ?)';
  const queries = Array.from({ length: 20 }, (_, c) => ({
    query: insert,
    params: [c % 3, c, 'x'],
  }));
  await client.batch(queries, { prepare: true, logged: false, consistency: consistencies.quorum });
  await client.batch(
    [
      "INSERT INTO n.batches (k, c, v) VALUES (9, 1, 'a')",
      "INSERT INTO n.batches (k, c, v) VALUES (9, 2, 'b')",
    ],
    { logged: true },
  );
  assert.equal(Number((await client.execute('SELECT count(*) FROM n.batches')).first().count), 22);
});

test('its metadata follows the schema, also what another client does', async () => {
  const other = connect({ contactPoints: [hosts[1]] });
  await other.execute(`CREATE KEYSPACE seen WITH replication = ${replication(2)}`);
  await other.execute(
    'CREATE TABLE seen.t (a int, b text, c timestamp, v blob, PRIMARY KEY ((a, b), c)) ' +
      'WITH CLUSTERING ORDER BY (c DESC)',
  );
  await until(() => client.metadata.keyspaces.seen);
  const table = await until(() => client.metadata.getTable('seen', 't'));
  assert.deepEqual(
    table.partitionKeys.map(c => c.name),
    ['a', 'b'],
  );
  assert.deepEqual(
    table.clusteringKeys.map(c => c.name),
    ['c'],
  );
  assert.deepEqual(table.clusteringOrder, ['DESC']);
  assert.equal(table.columnsByName.v.type.code, types.dataTypes.blob);
  assert.equal(table.isCompact, false);
  await other.execute('DROP KEYSPACE seen');
  await until(() => !client.metadata.keyspaces.seen);
});

test('a dead node: Unavailable says how many, QUORUM goes on, and it comes back', async () => {
  await control(['kill', 3]);
  await control(['wait_up', 1, 2]);
  const select = 'SELECT * FROM n.bind WHERE a = ?';
  await client.execute(select, ['x'], { prepare: true, consistency: consistencies.quorum });
  const error = await fails(
    client.execute(select, ['x'], { prepare: true, consistency: consistencies.all }),
    codes.unavailableException,
  );
  assert.deepEqual([error.consistencies, error.required, error.alive], [consistencies.all, 3, 2]);
  await fails(
    client.execute('CREATE TABLE n.later (k int PRIMARY KEY)'),
    codes.unavailableException,
  );
  await until(() => client.hosts.values().some(h => !h.isUp()));
  await control(['restart', 3]);
  await control(['wait_up', 1, 2, 3]);
  await client.execute(select, ['x'], { prepare: true, consistency: consistencies.all });
  await until(() => client.hosts.values().every(h => h.isUp()));
});

test('a restarted node says Unprepared, and the driver prepares again', async () => {
  await control(['kill', 3]);
  await control(['restart', 3]);
  await control(['wait_up', 1, 2, 3]);
  const insert = 'INSERT INTO single.t (k) VALUES (?)';
  for (let k = 0; k < 60; k++)
    await client.execute(insert, [k], { prepare: true, isIdempotent: true });
});

async function main() {
  let failed = 0;
  for (const { name, run } of tests) {
    const begun = Date.now();
    try {
      await run();
      console.log(`ok      ${name} (${Date.now() - begun} ms)`);
    } catch (error) {
      failed++;
      console.log(`FAILED  ${name}: ${error.stack}`);
      if (failed === 1 && tests[0].name === name) break; // without a connection nothing works
    }
  }
  await Promise.all(clients.map(c => c.shutdown()));
  console.log(`${tests.length - failed} passed, ${failed} failed`);
  process.exit(failed ? 1 : 0); // a client that could not connect may have left a connection open
}
main().catch(error => {
  console.log(error.stack);
  process.exit(1);
});
