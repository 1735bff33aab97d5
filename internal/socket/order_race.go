//go:build race

package socket

import "sync/atomic"

// The race detector knows that what is sent comes before what is received by read(2) and write(2), not by sendmsg(2).
var order atomic.Uint32

func beforeSend()   { order.Add(1) }
func afterReceive() { order.Load() }
