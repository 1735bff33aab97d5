package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
)

func (t *tool) ping() *cobra.Command {
	var write bool
	var each time.Duration
	cmd := &cobra.Command{
		Use:   "ping ADDRESS",
		Short: "Measure how long reads of remote memory take, and their rate",
		Long: `Reads 8 bytes from ADDRESS on again and again, then more at a time, up to 1 MiB or to
the region's end, and shows the median and 99th percentile of the former and the
bandwidth of the latter. Where an operation takes less than a microsecond, what is
measured is the mean of 32.

With --write the same follows for writes. They write what was read there before, so
that the memory stays as it is, unless others write to it meanwhile: their writes may
be lost. It needs the right to read, too.`,
		Example: "  farside ping 0x4180000000001000\n" +
			"  farside --fabric tls://192.0.2.7:7471/ ping 0x4180000000001000 --write",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: t.addresses,
		RunE: func(cmd *cobra.Command, args []string) error {
			address, err := parseAddress(args[0])
			if err != nil {
				return err
			}
			if each <= 0 {
				return fmt.Errorf("--time must be positive, not %v", each)
			}
			ctx, stop := untilInterrupt(cmd)
			defer stop()
			if err = t.measure(ctx, address, write, each); ctx.Err() != nil {
				err = ctx.Err()
			}
			return t.fail(err)
		},
	}
	cmd.Flags().BoolVar(&write, "write", false, "also measure writes: overwrites the memory with what it holds")
	cmd.Flags().DurationVar(&each, "time", 200*time.Millisecond, "`DURATION` of each measurement")
	return cmd
}

// transfer is one operation on the first bytes of the memory that is measured.
type transfer func(b []byte) error

func (t *tool) measure(ctx context.Context, address uint64, write bool, each time.Duration) error {
	p, r, err := t.resolve(ctx, address, 1)
	if err != nil {
		return err
	}
	defer p.Close()
	defer context.AfterFunc(ctx, func() { _ = p.Close() })() // ends an operation with another host
	buffer := make([]byte, min(rest(r, address), chunk))
	offset := int64(address - r.Base())
	read := func(b []byte) error { _, err := r.ReadAt(b, offset); return err }
	names, directions := []string{"read"}, []transfer{read}
	if write {
		if err := read(buffer); err != nil {
			return err
		}
		names = append(names, "write")
		directions = append(directions, func(b []byte) error { _, err := r.WriteAt(b, offset); return err })
	}
	sizes := pingSizes(uint64(len(buffer)))
	steps := len(directions) * (1 + len(sizes))
	var bar *progressbar.ProgressBar
	if isTerminal(os.Stderr) {
		bar = progressbar.NewOptions(steps, progressbar.OptionSetWriter(os.Stderr),
			progressbar.OptionSetDescription("ping"), progressbar.OptionClearOnFinish())
		defer bar.Clear()
	}
	step := func() {
		if bar != nil {
			_ = bar.Add(1)
		}
	}
	var latencies string
	rates := make([][]float64, len(sizes)) // bytes a second, by size and direction
	for i, do := range directions {
		small := buffer[:min(8, len(buffer))]
		median, p99, err := latency(ctx, do, small, each)
		if err != nil {
			return err
		}
		latencies += fmt.Sprintf("%dB %s: median %v, p99 %v\n", len(small), names[i], median, p99)
		step()
		for k, size := range sizes {
			rate, err := bandwidth(ctx, do, buffer[:size], each)
			if err != nil {
				return err
			}
			rates[k] = append(rates[k], rate)
			step()
		}
	}
	fmt.Print(latencies)
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "SIZE\t")
	for _, name := range names {
		fmt.Fprintf(w, "%s MB/s\t", name)
	}
	fmt.Fprintln(w)
	for k, size := range sizes {
		fmt.Fprintf(w, "%s\t", formatSize(size))
		for _, rate := range rates[k] {
			fmt.Fprintf(w, "%.1f\t", rate/1e6)
		}
		fmt.Fprintln(w)
	}
	return w.Flush()
}

// pingSizes is the powers of four from 64 bytes to limit, and limit, which is what the region has.
func pingSizes(limit uint64) []uint64 {
	var sizes []uint64
	for size := uint64(64); size < limit; size *= 4 {
		sizes = append(sizes, size)
	}
	return append(sizes, limit)
}

const (
	// fewest and most samples of a latency; time decides in between.
	fewestSamples, mostSamples = 10, 100_000
	// Fast operations are measured many at a time, since a look at the clock takes as long as they do.
	atOnce     = 32
	fastEnough = time.Microsecond
)

// latency measures the operation again and again for a while.
func latency(ctx context.Context, do transfer, b []byte, each time.Duration) (median, p99 time.Duration, err error) {
	n := 1
	sample := func() (time.Duration, error) {
		start := time.Now()
		for range n {
			if err := do(b); err != nil {
				return 0, err
			}
		}
		return time.Since(start) / time.Duration(n), ctx.Err()
	}
	// The first ones fill caches.
	for range 3 {
		first, err := sample()
		if err != nil {
			return 0, 0, err
		}
		if first < fastEnough {
			n = atOnce
		}
	}
	var all []time.Duration
	for start := time.Now(); len(all) < fewestSamples || len(all) < mostSamples && time.Since(start) < each; {
		took, err := sample()
		if err != nil {
			return 0, 0, err
		}
		all = append(all, took)
	}
	slices.Sort(all)
	return all[len(all)/2], all[len(all)*99/100], nil
}

// bandwidth is bytes a second of operations one after the other.
func bandwidth(ctx context.Context, do transfer, b []byte, each time.Duration) (float64, error) {
	start := time.Now()
	for n := 1; ; n++ {
		if err := do(b); err != nil {
			return 0, err
		}
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		if took := time.Since(start); took >= each {
			return float64(n) * float64(len(b)) / took.Seconds(), nil
		}
	}
}
