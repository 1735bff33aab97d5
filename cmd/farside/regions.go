package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"farside/rdmasim"
)

const redrawEvery = time.Second

func (t *tool) regions() *cobra.Command {
	var watch, asJSON bool
	cmd := &cobra.Command{
		Use:   "regions",
		Short: "List the regions of this host, their rights and their use",
		Long: `Lists the regions of every owner on this host that this user may use, by address:

  OWNER    the owner's id on the fabric
  PID      its process
  DEVICE   UUID of the device whose memory it is
  RIGHTS   what peers may do
  PEERS    how many have it open
  READS, WRITES, ATOMICS, READ, WRITTEN
           operations by peers of this host, and about how many bytes
  NAME     what VK_EXT_debug_utils called the memory

Owners that do not answer are counted in a line on standard error. Regions of other
hosts can't be listed from here.`,
		Example: "  farside regions --watch\n  farside regions --json | jq -r '.[].address'",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := untilInterrupt(cmd)
			defer stop()
			return t.fail(t.showRegions(ctx, os.Stdout, watch, asJSON))
		},
	}
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "list them again every second, until interrupted")
	cmd.Flags().BoolVar(&asJSON, "json", false, "write a JSON array; addresses and keys are strings in hexadecimal")
	return cmd
}

// list is the regions of this host.
func (t *tool) list(ctx context.Context) ([]rdmasim.RegionStatus, error) {
	if t.fabric != "" {
		return nil, errors.New("regions of other hosts can't be listed: call farside regions there, without --fabric")
	}
	p, err := t.open(ctx)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	return p.Regions(ctx)
}

func (t *tool) showRegions(ctx context.Context, out *os.File, watch, asJSON bool) error {
	write := writeTable
	if asJSON {
		write = writeJSON
	}
	redraw := watch && !asJSON && isTerminal(out)
	tick := time.NewTicker(redrawEvery)
	defer tick.Stop()
	for {
		list, err := t.list(ctx)
		silent := errors.Is(err, rdmasim.ErrTimeout)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && !silent:
			return err
		}
		if redraw {
			fmt.Fprint(out, "\x1b[H\x1b[2J") // cursor to the top, clear
		}
		if err := write(out, list); err != nil {
			return err
		}
		if silent {
			fmt.Fprintf(os.Stderr, "farside: the list lacks owners: %v\n", &failure{err: err})
		}
		if !watch {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func writeTable(out io.Writer, list []rdmasim.RegionStatus) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "OWNER\tPID\tDEVICE\tADDRESS\tSIZE\tRIGHTS\tPEERS\tREADS\tWRITES\tATOMICS\tREAD\tWRITTEN\tNAME")
	for _, r := range list {
		c := r.Counters
		fmt.Fprintf(w, "%05x\t%d\t%s\t%#x\t%s\t%v\t%d\t%d\t%d\t%d\t%s\t%s\t%s\n", r.Owner(), r.PID, formatUUID(r.DeviceUUID),
			r.Address, formatSize(r.Length), r.Access, r.Peers, c.Reads, c.Writes, c.Atomics,
			roughly(c.BytesRead), roughly(c.BytesWritten), printable(r.Name))
	}
	return w.Flush()
}

func writeJSON(out io.Writer, list []rdmasim.RegionStatus) error {
	type counters struct {
		Reads        uint64 `json:"reads"`
		Writes       uint64 `json:"writes"`
		Atomics      uint64 `json:"atomics"`
		BytesRead    uint64 `json:"bytes_read"`
		BytesWritten uint64 `json:"bytes_written"`
	}
	// Readers of JSON take numbers for doubles, which addresses and keys don't fit in.
	type region struct {
		Owner      string   `json:"owner"`
		PID        int      `json:"pid"`
		UID        uint32   `json:"uid"`
		DeviceUUID string   `json:"device_uuid"`
		Name       string   `json:"name"`
		Address    string   `json:"address"`
		Length     uint64   `json:"length"`
		Key        string   `json:"key"`
		Access     []string `json:"access"`
		Peers      int      `json:"peers"`
		Counters   counters `json:"counters"`
	}
	all := make([]region, 0, len(list)) // [] and not null when there are none
	for _, r := range list {
		all = append(all, region{Owner: fmt.Sprintf("%05x", r.Owner()), PID: r.PID, UID: r.UID,
			DeviceUUID: formatUUID(r.DeviceUUID), Name: r.Name, Address: fmt.Sprintf("%#x", r.Address), Length: r.Length,
			Key: fmt.Sprintf("%#x", r.Key), Access: strings.Split(r.Access.String(), ","), Peers: r.Peers,
			Counters: counters(r.Counters)})
	}
	return json.NewEncoder(out).Encode(all)
}

// formatUUID writes a UUID as vulkaninfo does.
func formatUUID(u [16]byte) string { return uuid.UUID(u).String() }

// printable keeps what another process called its memory from steering the terminal.
func printable(name string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, name)
}
