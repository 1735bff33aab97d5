// Command verbssoak lets processes do all kinds of RDMA on the stand-in for libibverbs while one after the other is
// killed, and others are stopped for a while.
//
// The processes are programs in C (node/), which know libibverbs, librdmacm and Vulkan alone. Each serves links and
// makes links to the others, by rdma_cm: of RC, with a queue pair of UC beside it or not, and of UD; with and without a
// shared receive queue; on ordinary memory and on a Vulkan device's. Over a link go sends, writes, reads and atomics of
// all sizes. What is read, what a message brings and what a peer has written is compared with a pattern. The processes
// wait by polling and by events in turns. All that was posted must complete, also on a link whose other side has died.
//
// With --apart, the processes are on two hosts, which are network namespaces. Packets may get lost there, and nobody
// tells of a process that has been killed: links are of RC alone.
//
// The supervisor kills a process now and then, and starts another one in its place; it stops processes and lets them go
// on. The first one is never killed: at the end it holds what it held at first.
//
// It exits with 1 if a byte was wrong, a link broke though nobody died, a completion or an event was missing, a process
// stood still, or something was left behind, and with 2 if it could not be run. The libraries and the driver are those
// that the environment names (farside verbs).
package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"farside/conformance/internal/soaking"
)

func main() { soaking.Main("", nil, command()) }

func command() *cobra.Command {
	var c config
	cmd := &cobra.Command{
		Use:   "verbssoak",
		Short: "Do RDMA in processes of which one after the other is killed or stopped",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if c.nodes < 2 || !c.Valid() {
				return errors.New("--processes must be at least 2, --duration and --kill-every positive")
			}
			fmt.Printf("verbssoak: seed %d\n", c.Seed)
			sum, err := soak(cmd.Context(), c, c.Stderr())
			fmt.Print(sum)
			return err
		},
	}
	f := cmd.Flags()
	f.IntVar(&c.nodes, "processes", 5, "processes")
	f.BoolVar(&c.apart, "apart", false, "put the processes into two network namespaces")
	c.Flags(cmd, 700*time.Millisecond, "who is killed or stopped, and what processes do")
	return cmd
}
