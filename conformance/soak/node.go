package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"farside/conformance/internal/soaking"
	"farside/conformance/vulkan"
	"farside/internal/vk"
)

// reportEvery is how often a node tells how it is.
const reportEvery = 250 * time.Millisecond

// A node is one process of the ring. All but the ends' loops happens on its main goroutine.
type node struct {
	id         uint64 // of the process, in the patterns that it writes
	socket     socket
	instance   *vulkan.Instance
	device     *vulkan.Device
	queues     [2]vk.Queue
	generation int
	ends       [2]*end // by side; nil without a link
	endings    chan ending
	rounds     [2]atomic.Uint64 // by side
	latest     atomic.Int64     // the most that a wait has outlasted its timeout, in nanoseconds
}

// An ending is why an end's loop ended.
type ending struct {
	e   *end
	err error
}

// runNode is the life of a node's process, which ends with the supervisor's end of the socket.
func runNode(index string) int {
	s, err := newSocket(os.NewFile(3, "socket"))
	if err != nil {
		fmt.Fprintf(os.Stderr, "node %s: %v\n", index, err)
		return 2
	}
	n := &node{id: uint64(os.Getpid()), socket: s, endings: make(chan ending)}
	if err := n.live(); err != nil {
		_ = s.send(nil, "fail %v", err)
		return 1
	}
	return 0
}

func (n *node) live() error {
	var err error
	if n.instance, err = openInstance(); err != nil {
		return err
	}
	before, err := soaking.Measure()
	if err != nil {
		return err
	}
	if err := n.begin(); err != nil {
		return err
	}
	messages := make(chan message)
	go func() {
		defer close(messages)
		for {
			m, err := n.socket.receive()
			if err != nil {
				return
			}
			messages <- m
		}
	}()
	tick := time.NewTicker(reportEvery)
	for {
		select {
		case m, ok := <-messages:
			if !ok {
				return errors.New("the supervisor is gone")
			}
			if m.is("stop") {
				return n.stop(before)
			}
			err = n.obey(m)
		case e := <-n.endings:
			err = e.err
			if err == errClosing || n.ends[e.e.side] != e.e {
				err = nil
			}
		case <-tick.C:
			err = n.report()
		}
		if errors.Is(err, errLost) {
			err = n.lose()
		}
		if err != nil {
			return err
		}
	}
}

// begin makes a device and says so.
func (n *node) begin() (err error) {
	if n.device, n.queues, err = openDevice(n.instance); err != nil {
		return err
	}
	n.generation++
	return n.socket.send(nil, "ready %d", n.generation)
}

// lose gives up a lost device and all that belongs to it, and makes another.
func (n *node) lose() error {
	n.finish()
	if err := n.socket.send(nil, "lost"); err != nil {
		return err
	}
	return n.begin()
}

func (n *node) finish() {
	for side, e := range n.ends {
		if e != nil {
			e.close()
			n.ends[side] = nil
		}
	}
	n.device.Destroy()
}

// stop leaves nothing behind, or tells what.
func (n *node) stop(before soaking.Usage) error {
	n.finish()
	after, err := soaking.Measure()
	if err != nil {
		return err
	}
	if after.Descriptors > before.Descriptors+soaking.RuntimeDescriptors || after.Shared > before.Shared {
		return fmt.Errorf("without a device there are %v, before the first one there were %v", after, before)
	}
	n.instance.Destroy()
	return n.socket.send(nil, "stopped")
}

func (n *node) obey(m message) error {
	if len(m.words) != 3 || m.words[2] != strconv.Itoa(n.generation) {
		closeAll(m.fds)
		return nil
	}
	side := m.side()
	e := n.ends[side]
	switch m.words[0] {
	case "offer":
		e, fds, err := newEnd(n, side)
		if err != nil {
			return n.failed(err)
		}
		n.ends[side] = e
		return n.socket.send(fds, "offered %s", sideNames[side])
	case "take":
		return n.failed(e.take(m.fds))
	case "hush":
		e.hush()
		return n.socket.send(nil, "hushed %s", sideNames[side])
	case "close":
		e.close()
		n.ends[side] = nil
		return n.socket.send(nil, "closed %s", sideNames[side])
	}
	return fmt.Errorf("what is %q?", m.words)
}

// failed makes errLost of a command's result that says so.
func (n *node) failed(err error) error {
	var r *resultError
	if errors.As(err, &r) && r.result == vk.ERROR_DEVICE_LOST {
		return errLost
	}
	return err
}

// late notes how long a wait has outlasted its timeout.
func (n *node) late(d time.Duration) {
	for {
		old := n.latest.Load()
		if int64(d) <= old || n.latest.CompareAndSwap(old, int64(d)) {
			return
		}
	}
}

func (n *node) report() error {
	u, err := soaking.Measure()
	if err != nil {
		return err
	}
	return n.socket.send(nil, "report %d %d %d %d %d %d %d", n.rounds[right].Load(), n.rounds[left].Load(),
		n.latest.Load(),
		u.Descriptors, u.Shared, u.Mappings, u.Resident)
}
