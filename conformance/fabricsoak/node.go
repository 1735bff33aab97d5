package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"sync/atomic"
	"time"

	"farside/conformance/internal/soaking"
)

// report is what a process tells every now and then, as a line of JSON.
type report struct {
	Operations uint64 // that succeeded
	Checked    uint64 // bytes compared
	Freed      uint64 // operations that met a free
	Died       uint64 // or an owner's death
	Regions    uint64 // registered, by an owner
	Ended      bool   // nothing comes any more
}

// tally counts what is reported.
type tally struct{ operations, checked, freed, died, regions atomic.Uint64 }

func (t *tally) report(ended bool) {
	line,
		err := json.Marshal(report{t.operations.Load(), t.checked.Load(), t.freed.Load(), t.died.Load(), t.regions.Load(),
		ended})
	if err != nil {
		panic(err)
	}
	fmt.Printf("%s\n", line)
}

// reportEvery is the time between two reports.
const reportEvery = 200 * time.Millisecond

// play is an owner or a peer, until standard input ends. What goes wrong goes to standard error.
func play(role string) int {
	seed, err := strconv.ParseUint(os.Getenv(seedVariable), 10, 64)
	if err == nil {
		stop := make(chan struct{})
		go func() {
			for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			}
			close(stop)
		}()
		err = playUntil(stop, role, rand.New(rand.NewPCG(seed, 0)))
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "fabricsoak: %s %d: %v\n", role, os.Getpid(), err)
		return 1
	}
	return 0
}

func playUntil(stop chan struct{}, role string, rng *rand.Rand) error {
	before, err := soaking.Measure()
	if err != nil {
		return err
	}
	var t tally
	work := playOwner
	if role == peerRole {
		work = playPeer
	}
	ended := make(chan error, 1)
	go func() { ended <- work(stop, &t, rng) }()
	tick := time.NewTicker(reportEvery)
	defer tick.Stop()
	for done := false; !done; {
		select {
		case <-tick.C:
			t.report(false)
		case err := <-ended:
			if err != nil {
				return err
			}
			done = true
		}
	}
	t.report(true)
	return nothingLeft(before)
}

// nothingLeft compares what the process holds with what it held at first, once everything is closed. Mappings
// that belong to connections go with the garbage.
func nothingLeft(before soaking.Usage) error {
	var err error
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		runtime.GC()
		now, failed := soaking.Measure()
		if failed != nil {
			return failed
		}
		if now.Descriptors <= before.Descriptors+soaking.RuntimeDescriptors && now.Shared <= before.Shared {
			return nil
		}
		err = errors.New("left behind: " + now.String() + "; at first: " + before.String())
	}
	return err
}
