// Package verbs is the functions of libibverbs and librdmacm as C calls them: one file for each kind of object. A function
// decodes the structures of C, looks objects up, calls verbs/internal/engine, fills structures of C, and sets errno.
//
// Programs call the stand-in for both libraries, cmd/libibverbs. At its first call that asks [Fill] for the addresses of
// all functions. Inline functions of verbs.h go through tables of addresses in ibv_context, verbs_context, ibv_qp_ex and
// ibv_cq_ex, which are entries as well.
//
// C's structures lie outside of Go's heap (slots). What C hands over as the address of one is looked up, never followed:
// a stale or wild one is EINVAL. What a program hands over itself, such as lists of work requests, is read where it is;
// an address that can't be accessed is EFAULT.
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

// missing is a function that there is not.
func missing(name string) func(*cabi.Call) {
	var told atomic.Bool
	return func(c *cabi.Call) {
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

// start readies the process, when it first asks for devices. Errors: config.ErrSetting, those of gate.Prepare and of a
// report's files.
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
