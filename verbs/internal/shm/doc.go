// Package shm carries packets between the processes of one user and one network namespace, through shared memory.
//
// A process that uses it is a [Host]. It claims a number by binding an abstract unix socket that is named after it
// (unix(7): the kernel's table of these names belongs to the network namespace, and a name goes with its process). The
// upper half of a queue pair's number is its process' number. So whoever has the number of a queue pair finds its
// process.
//
// Two processes have a [Session]: a connection of that socket, whose end tells of the other's death, and four files.
//
//   - Each has a page for everybody ([Page], page.go): whether it sleeps, and which queue pairs and memory regions
//     others may use without its help.
//   - Each has a file for the other (ring.go): a ring of packets, the place up to which it has read the other's ring,
//     and two counts of direct operations.
//
// Every file can be written by the process that made it alone (F_SEAL_FUTURE_WRITE). What the other side writes is
// copied once and checked before it is used: it may write anything at any time, stop, or die.
//
// # Who drains a ring
//
// Whoever calls [Host.Poll], one thread at a time for each ring. A goroutine of the Host does it when nobody polls
// (wake.go), and beside threads that poll while these leave requests lying. A sender wakes that goroutine by an
// eventfd, if the page says that it sleeps:
//
//	sender                        receiver
//	1. write the packet           a. say that it sleeps
//	2. store the packet's word    b. load the words of the next packets
//	3. load whether it sleeps     c. wait for the eventfd, if all of them are 0
//
// 2, 3, a and b are operations of sync/atomic, so there is one order of them (The Go Memory Model, "Atomic Values").
// Either 2 comes before b, and the receiver sees the packet; or b comes before 2, so a comes before 3, and the sender
// wakes it. A sender that finds the ring full waits in the same way, with the roles changed.
package shm
