package main

import (
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"
)

// progress shows how far the run is: a bar on a terminal, else a line now and then.
type progress struct {
	w     io.Writer
	bar   *progressbar.ProgressBar // nil without a terminal
	start time.Time
	shown time.Time
}

const lineEvery = 10 * time.Second

func newProgress(w io.Writer, terminal bool, duration time.Duration) *progress {
	p := &progress{w: w, start: time.Now(), shown: time.Now()}
	if terminal {
		p.bar = progressbar.NewOptions(int(duration.Seconds()), progressbar.OptionSetWriter(w), progressbar.OptionFullWidth(),
			progressbar.OptionSetPredictTime(true))
	}
	return p
}

func (p *progress) show(s *summary) {
	took := time.Since(p.start)
	text := fmt.Sprintf("soak: %d rounds checked, %d killed, %d devices lost", s.rounds, s.kills, s.lost)
	switch {
	case p.bar != nil:
		p.bar.Describe(text)
		_ = p.bar.Set(min(int(took.Seconds()), p.bar.GetMax()))
	case time.Since(p.shown) >= lineEvery:
		p.shown = time.Now()
		fmt.Fprintf(p.w, "%s after %v\n", text, took.Round(time.Second))
	}
}

// close ends the line that a bar stands in.
func (p *progress) close() {
	if p.bar != nil {
		fmt.Fprintln(p.w)
	}
}
