// Imported first: every server of this process listens on 127.0.0.1 only, where it would take all interfaces.
import net from "node:net";

const listen = net.Server.prototype.listen;

net.Server.prototype.listen = function (first, ...rest) {
  if (typeof first !== "number" && !/^\d+$/.test(String(first))) {
    return listen.call(this, first, ...rest);
  }
  const callbacks = rest.filter((one) => typeof one === "function");
  return listen.call(this, { port: Number(first), host: "127.0.0.1" }, ...callbacks);
};
