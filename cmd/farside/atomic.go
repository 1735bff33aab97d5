package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"farside/rdmasim"
)

// atomics are the operations with one operand.
var atomics = map[string]struct {
	of32 func(*rdmasim.Peer, uint64, uint32) (uint32, error)
	of64 func(*rdmasim.Peer, uint64, uint64) (uint64, error)
}{
	"fetch-add": {(*rdmasim.Peer).FetchAdd32, (*rdmasim.Peer).FetchAdd64},
	"swap":      {(*rdmasim.Peer).Swap32, (*rdmasim.Peer).Swap64},
	"and":       {(*rdmasim.Peer).FetchAnd32, (*rdmasim.Peer).FetchAnd64},
	"or":        {(*rdmasim.Peer).FetchOr32, (*rdmasim.Peer).FetchOr64},
	"xor":       {(*rdmasim.Peer).FetchXor32, (*rdmasim.Peer).FetchXor64},
}

const compareSwap = "compare-swap"

func (t *tool) atomic() *cobra.Command {
	var width int
	var asHex bool
	operations := append(slices.Sorted(maps.Keys(atomics)), compareSwap)
	cmd := &cobra.Command{
		Use:   "atomic ADDRESS OPERATION VALUE...",
		Short: "Run an atomic operation on a word of remote memory",
		Long: `Changes a word of remote memory in one step and writes what was there before:

  fetch-add VALUE            adds
  swap VALUE                 replaces
  compare-swap COMPARE SWAP  replaces what is COMPARE; it was if that is written
  and MASK, or MASK, xor MASK
                             clear, set or invert bits

Values are decimal or hexadecimal. A negative one needs two dashes before the
arguments. The word has the host's byte order, and ADDRESS is a multiple of its size.`,
		Example: `  farside atomic 0x4180000000001000 fetch-add 1
  farside atomic 0x4180000000001000 compare-swap 0 0xff --width 32
  farside atomic -- 0x4180000000001000 fetch-add -1`,
		Args: cobra.RangeArgs(3, 4),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion,
			cobra.ShellCompDirective) {
			if len(args) == 1 {
				return operations, cobra.ShellCompDirectiveNoFileComp
			}
			return t.addresses(cmd, args, typed)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			address, err := parseAddress(args[0])
			if err != nil {
				return err
			}
			if width != 32 && width != 64 {
				return fmt.Errorf("--width is 32 or 64, not %d", width)
			}
			operation, values := args[1], make([]uint64, len(args)-2)
			want := 1
			if operation == compareSwap {
				want = 2
			} else if _, ok := atomics[operation]; !ok {
				return fmt.Errorf("%q is not an operation: %s", operation, strings.Join(operations, ", "))
			}
			if len(values) != want {
				return fmt.Errorf("%s takes %d values, not %d", operation, want, len(values))
			}
			for i, s := range args[2:] {
				if values[i], err = parseWord(s, width); err != nil {
					return err
				}
			}
			old, err := t.runAtomic(cmd.Context(), address, operation, width, values)
			if err != nil {
				return t.fail(err)
			}
			if asHex {
				fmt.Printf("%#x\n", old)
			} else {
				fmt.Println(old)
			}
			return nil
		},
	}
	cmd.Flags().IntVar(&width, "width", 64, "`BITS` of the word, 32 or 64")
	cmd.Flags().BoolVar(&asHex, "hex", false, "write the word in hexadecimal")
	return cmd
}

// runAtomic does one operation and returns what the word was.
func (t *tool) runAtomic(ctx context.Context, address uint64, operation string, width int, values []uint64) (uint64,
	error) {
	p, err := t.open(ctx)
	if err != nil {
		return 0, err
	}
	defer p.Close()
	switch do := atomics[operation]; {
	case operation == compareSwap && width == 32:
		old, err := p.CompareSwap32(address, uint32(values[0]), uint32(values[1]))
		return uint64(old), err
	case operation == compareSwap:
		return p.CompareSwap64(address, values[0], values[1])
	case width == 32:
		old, err := do.of32(p, address, uint32(values[0]))
		return uint64(old), err
	default:
		return do.of64(p, address, values[0])
	}
}
