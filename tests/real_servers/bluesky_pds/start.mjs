// Starts a directory of identities (PLC, in memory) and a Bluesky PDS beside it, both on loopback.
//
// Arrives: PDS_DATA, a folder for its files. Leaves: one line of JSON with the PDS's address once it answers.
// It ends when its standard input ends, so that it never outlives the tests that started it.
import "./loopback.mjs";
import crypto from "node:crypto";
import fs from "node:fs";
import { createRequire } from "node:module";
import net from "node:net";

const require = createRequire(import.meta.url);
const { Database, PlcServer } = require("@did-plc/server");
const { PDS, envToCfg, envToSecrets } = require("@atproto/pds");

const freePort = () =>
  new Promise((resolve, reject) => {
    const server = net.createServer();
    server.on("error", reject);
    server.listen(0, () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });

const plcPort = await freePort();
const plc = PlcServer.create({ db: Database.mock(), port: plcPort });
await plc.start();

const port = await freePort();
const data = process.env.PDS_DATA;
fs.mkdirSync(data, { recursive: true });
// No other service is there: what would go to the network's view or to moderators is refused at once.
const nobody = { url: "http://127.0.0.1:9", did: "did:example:nobody" };
const settings = {
  devMode: true,
  port,
  hostname: "localhost",
  dataDirectory: data,
  blobstoreDiskLocation: `${data}/blobs`,
  adminPassword: crypto.randomBytes(16).toString("hex"),
  jwtSecret: crypto.randomBytes(16).toString("hex"),
  plcRotationKeyK256PrivateKeyHex: crypto.randomBytes(32).toString("hex"),
  serviceHandleDomains: [".test"],
  didPlcUrl: `http://127.0.0.1:${plcPort}`,
  bskyAppViewUrl: nobody.url,
  bskyAppViewDid: nobody.did,
  modServiceUrl: nobody.url,
  modServiceDid: nobody.did,
  inviteRequired: false,
  disableSsrfProtection: true,
  rateLimitsEnabled: true,
  crawlers: [],
};
const pds = await PDS.create(envToCfg(settings), envToSecrets(settings));
await pds.start();
console.log(JSON.stringify({ url: `http://127.0.0.1:${port}` }));

process.stdin.resume();
process.stdin.on("end", async () => {
  await pds.destroy();
  await plc.destroy();
  process.exit(0);
});
