// What Node.js brings: zlib, brotli, wasm, crypto, sqlite, text encodings, URLs, timers, big numbers.
const zlib = require('node:zlib');
const crypto = require('node:crypto');
const { DatabaseSync } = require('node:sqlite');

const data = Buffer.from('container-disk '.repeat(10_000));
for (const [pack, unpack] of [
  ['gzipSync', 'gunzipSync'],
  ['brotliCompressSync', 'brotliDecompressSync'],
  ['zstdCompressSync', 'zstdDecompressSync'],
]) {
  console.log(pack, zlib[pack](data).length, zlib[unpack](zlib[pack](data)).equals(data));
}
console.log(zlib.crc32(data));
const wasm = new WebAssembly.Module(
  Buffer.from(
    '0061736d0100000001070160027f7f017f030201000707010361646400000a09010700200020016a0b',
    'hex',
  ),
);
console.log(new WebAssembly.Instance(wasm).exports.add(40, 2));
console.log(crypto.createHash('sha256').update(data).digest('hex'), crypto.getHashes().length);
const { publicKey, privateKey } = crypto.generateKeyPairSync('ed25519');
console.log(crypto.verify(null, data, publicKey, crypto.sign(null, data, privateKey)));
console.log(
  crypto.scryptSync('password', 'salt', 16).toString('hex'),
  crypto.randomBytes(8).length,
);
const cipher = crypto.createCipheriv('aes-256-gcm', Buffer.alloc(32), Buffer.alloc(12));
console.log(
  cipher.update('text', 'utf8', 'hex') + cipher.final('hex') + cipher.getAuthTag().toString('hex'),
);
const database = new DatabaseSync(':memory:');
database.exec("create table t (a integer, b text); insert into t values (1, 'one'), (2, 'two')");
console.log(database.prepare('select sum(a) as sum, group_concat(b) as names from t').get());
console.log(
  new TextDecoder('utf-8').decode(new TextEncoder().encode('grüße 🖴')),
  new URL('http://bücher.example/ä?q=1').href,
);
console.log(
  2n ** 200n,
  (0.1 + 0.2).toFixed(20),
  Number.MAX_VALUE,
  parseFloat('1e-320'),
  new Date(0).toISOString(),
);
console.log(
  /(?<year>\p{Nd}{4})/u.exec('in 2026').groups.year,
  'ÄÖ'.toLowerCase(),
  'ß'.toUpperCase(),
);
