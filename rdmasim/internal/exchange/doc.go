// Package exchange tells peers on other hosts what they need to use a region by libfabric: where its target
// is, and the base and the key that the library wants. It carries no data.
//
// A [Server] listens on TCP, a [Client] connects. Both speak TLS 1.3 and nothing older, and both prove who
// they are, by a secret that they share or by certificates ([LoadCredentials]). The protocol's version is
// the name of the application protocol in the handshake, so that sides of different versions part there.
//
// # Messages
//
// A message is its kind and the length of what follows, two bytes each, little-endian as everything, and at
// most [maxMessage] bytes. The server begins with a hello, which names the target. The client asks with
// resolve, any number of times, one after the other, and gets a reply to each. When a region ends that a
// client has been told of, the server sends revoke, and the client acknowledges it when its operations on
// the region have ended. Anything else ends the connection, and with it all that the client was told.
package exchange
