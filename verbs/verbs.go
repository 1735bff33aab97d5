// Package verbs is the functions of libibverbs and librdmacm as C calls them: one file for each kind of object. A
// function decodes the structures of C, looks objects up, calls verbs/internal/engine, fills structures of C, and sets
// errno.
//
// Programs call the stand-in for both libraries, cmd/libibverbs. At its first call that asks [Fill] for the addresses
// of all functions. Inline functions of verbs.h go through tables of addresses in ibv_context, verbs_context, ibv_qp_ex
// and ibv_cq_ex, which are entries as well.
//
// C's structures lie outside of Go's heap (slots). What C hands over as the address of one is looked up, never
// followed: a stale or wild one is EINVAL. What a program hands over itself, such as lists of work requests, is read
// where it is; an address that can't be accessed is EFAULT.
//
// # What there is
//
// Queue pairs of RC, UC, UD and XRC with shared receive queues; send, RDMA write and read, atomics of 64 bits,
// invalidation; memory regions of the process, of devices by remote address, and of dma-bufs and memfds; windows of
// types 1 and 2B; completion channels and asynchronous events; the extended interface of queue pairs and completion
// queues; all of rdma_cm but multicast and ECE. docs/verbs.md has the table. Packets travel by shared memory between
// the processes of one user in a network namespace, by RoCEv2 over UDP port 4791 between hosts. The attributes of the
// device are the limits: 65536 queue pairs, 32768 requests in a queue, 32 scatter and gather entries, 2^20 regions and
// as many windows, messages of 1 GiB, one P_Key. A queue that is full answers ENOMEM.
//
// # What is refused, and how
//
// Every function of rdma-core 65 is there to be found, by the linker or by dlvsym, in the version that rdma-core has it
// in. A program may call one that has no work here: multicast, rsockets, device memory, import from other processes,
// ECE, counters. It answers EOPNOTSUPP in the way that the function answers errors, and the log says so once, as a
// warning. Private functions, which only providers of adapters call, answer ENOSYS. Of inline functions of verbs.h,
// those that are not here have no address in the tables, and so answer EOPNOTSUPP by themselves. Bits of masks and
// flags that Farside doesn't know are EOPNOTSUPP, wrong handles and attributes EINVAL, device memory that peers may not
// have EFAULT; each is logged. A right, a key or a range that is wrong is an error of the work: its completion has the
// status that the specification gives, and the queue pair goes to the error state.
//
// # What is promised beyond adapters
//
// A program that is to run on an adapter must not count on these:
//
//   - Stale pointers and memory that isn't mapped are errors of the call. They don't crash the process.
//   - Memory that is unmapped while it is registered is an error of the work that needs it.
//   - Atomics are atomic with those of the processor (IBV_ATOMIC_GLOB).
//   - Within a host nothing is lost, completions come in order and often at once, and what was written is there at the
//     completion, also for writes to device memory. FARSIDE_STRICT=rdma takes that away.
//   - No process reaches into another one (process_vm_readv, ptrace): work between processes of one user needs no
//     privilege. In turn, a process that is stopped does not answer for its ordinary memory.
//
// Times and bandwidths mean nothing: they are no adapter's.
package verbs

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"farside/internal/cabi"
	"farside/internal/config"
	"farside/internal/fault"
	"farside/internal/finding"
	"farside/internal/gate"
	"farside/internal/log"
	"farside/internal/report"
	"farside/internal/stderr"
)

var logger = log.New(stderr.Writer)

// missing is a function that there is not. It may be the first that a program calls.
func missing(name string) func(*cabi.Call) {
	var told atomic.Bool
	return func(c *cabi.Call) {
		_, _ = start() // so that the log has its level; who asks for devices gets its error
		if !told.Swap(true) {
			logger.Warn("there is no such function here", "function", name)
		}
		c.Fail(unix.EOPNOTSUPP)
	}
}

// Fill puts the address of each function that names lists into its slot: names and slots are arrays of n words of C. It
// returns how many names it knows.
func Fill(names, slots, n uintptr) (filled int32) {
	const most = 1 << 12
	known := entries()
	to := array[uintptr](slots, int(min(n, most)))
	for i, name := range array[uintptr](names, len(to)) {
		if address, ok := known[text(name, 64)]; ok {
			atomic.StoreUintptr(&to[i], address)
			filled++
		}
	}
	return filled
}

// start readies the process, when it first asks for devices or for what there is not. Errors: config.ErrSetting, those
// of gate.Prepare and of a report's files.
var start = sync.OnceValues(func() (*config.Settings, error) {
	if err := gate.Prepare(); err != nil {
		return nil, err
	}
	settings, err := config.Capture()
	if err != nil {
		return nil, err
	}
	log.Level.Set(settings.Log)
	for _, n := range settings.Notices {
		logger.Log(context.Background(), n.Level, n.Text)
	}
	if err := report.Start(settings, "farside's verbs", gate.AtExit); err != nil {
		return nil, err
	}
	finding.Begin(settings)
	if finding.On(config.StrictLeaks) {
		gate.AtExit(tellLeftAtExit)
	}
	if _, err := fault.Load(settings); err != nil {
		return nil, err
	}
	return settings, nil
})

// fail makes a call fail with the errno that an error wraps, or else with the one given.
func fail(c *cabi.Call, errno unix.Errno, err error) {
	errno = errnoOf(err, errno)
	if log.Level.Level() <= slog.LevelWarn {
		logger.Warn(err.Error(), "function", c.Name(), "errno", unix.ErrnoName(errno))
	}
	c.Fail(errno)
}

// errnoOf is the errno that an error wraps, or else the one given.
func errnoOf(err error, errno unix.Errno) unix.Errno {
	if of, ok := errors.AsType[unix.Errno](err); ok {
		return of
	}
	return errno
}
