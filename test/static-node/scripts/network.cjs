// http on loopback, a look-up of localhost, a UNIX socket, and fetch.
const http = require('node:http');
const dns = require('node:dns/promises');
const net = require('node:net');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');

const server = http.createServer((request, response) => {
  let size = 0;
  request.on('data', (chunk) => (size += chunk.length));
  request.on('end', () => response.end(`${request.method} ${request.url} ${size}`));
});
server.listen(0, '127.0.0.1', async () => {
  const url = `http://127.0.0.1:${server.address().port}`;
  console.log(await (await fetch(`${url}/a`)).text());
  console.log(
    await (await fetch(`${url}/b`, { method: 'POST', body: 'x'.repeat(100_000) })).text(),
  );
  await fetch('http://127.0.0.1:1/').catch((error) =>
    console.log(error.cause.code ?? error.cause.message),
  );
  server.closeAllConnections();
  server.close();
  console.log((await dns.lookup('localhost', { family: 4 })).address);
  console.log(await dns.lookup('127.0.0.1', { all: true }));
  console.log((await dns.lookupService('127.0.0.1', 22)).service);
  await dns.lookup('a'.repeat(300)).catch((error) => console.log(error.code));
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'network-'));
  const echo = net
    .createServer((socket) => socket.pipe(socket))
    .listen(path.join(directory, 's'), () => {
      const client = net.connect(path.join(directory, 's'));
      client.end('echo');
      client.on('data', (data) => console.log(String(data)));
      client.on('close', () => {
        echo.close();
        fs.rmSync(directory, { recursive: true });
      });
    });
});
