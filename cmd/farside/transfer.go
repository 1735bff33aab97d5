package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
)

const (
	// chunk is the largest single transfer, bytes.
	chunk = 1 << 20
	// barAfter is how long a transfer goes on without showing how far it is.
	barAfter = time.Second
)

func (t *tool) read() *cobra.Command {
	var dump bool
	var output string
	cmd := &cobra.Command{
		Use:   "read ADDRESS LENGTH [--hex | -o FILE]",
		Short: "Read remote memory",
		Long: `Writes LENGTH bytes from ADDRESS on to standard output: as they are, or as a
hexadecimal dump when that is a terminal. They must lie in one region.`,
		Example:           "  farside read 0x4180000000001000 64\n  farside read 0x4180000000001000 16MiB -o weights.bin",
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: t.addresses,
		RunE: func(cmd *cobra.Command, args []string) error {
			address, err := parseAddress(args[0])
			if err != nil {
				return err
			}
			length, err := parseSize(args[1])
			if err != nil {
				return err
			}
			return t.fail(t.readTo(cmd.Context(), address, length, output, dump))
		},
	}
	cmd.Flags().BoolVar(&dump, "hex", false, "write a hexadecimal dump, also to a file")
	cmd.Flags().StringVarP(&output, "output", "o", "", "`FILE` to write, as the bytes are")
	cmd.MarkFlagsMutuallyExclusive("hex", "output")
	return cmd
}

func (t *tool) readTo(ctx context.Context, address, length uint64, output string, dump bool) (err error) {
	p, r, err := t.resolve(ctx, address, length)
	if err != nil {
		return err
	}
	defer p.Close()
	out := os.Stdout
	if output != "" {
		if out, err = os.Create(output); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, out.Close()) }()
	}
	bar := newProgress("read", int64(length))
	defer bar.close()
	in := io.TeeReader(io.NewSectionReader(r, int64(address-r.Base()), int64(length)), bar)
	if dump || output == "" && isTerminal(out) {
		d := &hexDump{w: out, address: address}
		_, err := copyChunks(d, in)
		return errors.Join(err, d.flush())
	}
	_, err = copyChunks(out, in)
	return err
}

func (t *tool) write() *cobra.Command {
	var input string
	cmd := &cobra.Command{
		Use:   "write ADDRESS [-i FILE]",
		Short: "Write remote memory",
		Long: `Writes standard input, or a file, to remote memory from ADDRESS on. It must fit into
the region: a file that doesn't isn't begun, and of a pipe what fits has been
written when the error comes.`,
		Example:           "  farside write 0x4180000000001000 < data\n  printf 'hello' | farside write 0x4180000000001000",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: t.addresses,
		RunE: func(cmd *cobra.Command, args []string) error {
			address, err := parseAddress(args[0])
			if err != nil {
				return err
			}
			return t.fail(t.writeFrom(cmd.Context(), address, input))
		},
	}
	cmd.Flags().StringVarP(&input, "input", "i", "", "`FILE` to write instead of standard input")
	return cmd
}

func (t *tool) writeFrom(ctx context.Context, address uint64, input string) (err error) {
	in := os.Stdin
	if input != "" {
		if in, err = os.Open(input); err != nil {
			return err
		}
		defer in.Close()
	}
	length, err := remaining(in)
	if err != nil {
		return err
	}
	p, r, err := t.resolve(ctx, address, uint64(max(length, 0)))
	if err != nil {
		return err
	}
	defer p.Close()
	bar := newProgress("write", length)
	defer bar.close()
	n, err := copyChunks(io.NewOffsetWriter(r, int64(address-r.Base())), io.TeeReader(in, bar))
	if err != nil {
		return fmt.Errorf("after %d bytes: %w", n, err)
	}
	return nil
}

// remaining is how many bytes can be read from a file, -1 where it doesn't know.
func remaining(f *os.File) (int64, error) {
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return -1, err
	}
	at, err := f.Seek(0, io.SeekCurrent)
	return max(info.Size()-at, 0), err
}

// copyChunks copies everything in large pieces. Neither side may have its own, smaller idea of one.
func copyChunks(w io.Writer, r io.Reader) (int64, error) {
	return io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{r}, make([]byte, chunk))
}

// progress is a bar on standard error for transfers that take long, where a person sees it.
type progress struct {
	bar   *progressbar.ProgressBar // nil without a terminal
	start time.Time
	shown bool
}

// newProgress begins to count up to total bytes, -1 if that isn't known.
func newProgress(what string, total int64) *progress {
	p := &progress{start: time.Now()}
	if isTerminal(os.Stderr) {
		p.bar = progressbar.NewOptions64(total, progressbar.OptionSetWriter((*lateWriter)(p)),
			progressbar.OptionShowBytes(true),
			progressbar.OptionSetDescription(what), progressbar.OptionThrottle(100*time.Millisecond),
			progressbar.OptionSetSpinnerChangeInterval(0)) // nothing is drawn behind the transfer's back
	}
	return p
}

// Write counts what has been transferred. A file that grows meanwhile is an error to the bar and none here.
func (p *progress) Write(b []byte) (int, error) {
	if p.bar != nil {
		_ = p.bar.Add(len(b))
	}
	return len(b), nil
}

// close ends the line in which the bar stands.
func (p *progress) close() {
	if p.shown {
		fmt.Fprintln(os.Stderr)
	}
}

// lateWriter is where the bar draws, for nobody at first.
type lateWriter progress

func (w *lateWriter) Write(b []byte) (int, error) {
	if time.Since(w.start) < barAfter {
		return len(b), nil
	}
	w.shown = true
	return os.Stderr.Write(b)
}
