package soaking

import (
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"
)

// Progress shows how far the run is: a bar on a terminal, else a line now and then.
type Progress struct {
	w     io.Writer
	bar   *progressbar.ProgressBar // nil without a terminal
	start time.Time
	shown time.Time
}

const lineEvery = 10 * time.Second

// NewProgress shows on w, which is a terminal or not, how far a run of this duration is.
func NewProgress(w io.Writer, terminal bool, duration time.Duration) *Progress {
	p := &Progress{w: w, start: time.Now(), shown: time.Now()}
	if terminal {
		p.bar = progressbar.NewOptions(int(duration.Seconds()), progressbar.OptionSetWriter(w), progressbar.OptionFullWidth(),
			progressbar.OptionSetPredictTime(true))
	}
	return p
}

// Show says what has happened so far.
func (p *Progress) Show(text string) {
	took := time.Since(p.start)
	switch {
	case p.bar != nil:
		p.bar.Describe(text)
		_ = p.bar.Set(min(int(took.Seconds()), p.bar.GetMax()))
	case time.Since(p.shown) >= lineEvery:
		p.shown = time.Now()
		fmt.Fprintf(p.w, "%s after %v\n", text, took.Round(time.Second))
	}
}

// Close ends the line that a bar stands in.
func (p *Progress) Close() {
	if p.bar != nil {
		fmt.Fprintln(p.w)
	}
}
