package main

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
)

// progress shows how far the run is: a bar on a terminal, else a line now and then.
type progress struct {
	mu            sync.Mutex
	w             io.Writer
	bar           *progressbar.ProgressBar // nil without a terminal
	start, shown  time.Time
	every         time.Duration
	n, bads, from int
}

// newProgress begins to show a run of so many cases. Without a terminal there is one line in each period of every.
func newProgress(w io.Writer, terminal bool, cases int, every time.Duration) *progress {
	p := &progress{w: w, start: time.Now(), shown: time.Now(), every: every, from: cases}
	if terminal {
		p.bar = progressbar.NewOptions(cases, progressbar.OptionSetWriter(w), progressbar.OptionSetDescription("cts"),
			progressbar.OptionShowCount(), progressbar.OptionSetPredictTime(true), progressbar.OptionFullWidth(),
			progressbar.OptionThrottle(100*time.Millisecond))
	}
	return p
}

func (p *progress) add(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.n += n
	if p.bar != nil {
		p.bar.Add(n)
		return
	}
	if now := time.Now(); now.Sub(p.shown) >= p.every {
		p.shown = now
		fmt.Fprintf(p.w, "cts: %d of %d cases after %v, %d failed\n", p.n, p.from, now.Sub(p.start).Round(time.Second),
			p.bads)
	}
}

// bad counts a case that failed, crashed or timed out.
func (p *progress) bad() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bads++
	if p.bar != nil {
		p.bar.Describe(fmt.Sprintf("cts: %d failed", p.bads))
	}
}

// close ends the line that a bar stands in.
func (p *progress) close() {
	if p.bar != nil {
		fmt.Fprintln(p.w)
	}
}
