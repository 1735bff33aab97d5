package rdmasim

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"farside/internal/config"
	"farside/internal/fault"
)

// withFaults sets a plan until the test ends.
func withFaults(t *testing.T, plan string) {
	t.Helper()
	load := func() {
		settings, err := config.Read()
		if err == nil {
			_, err = fault.Load(settings)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv(config.Faults, "")
	load() // ends the counts of another test with the same plan
	t.Setenv(config.Faults, plan)
	t.Cleanup(func() {
		t.Setenv(config.Faults, "")
		load()
	})
}

// faultRegion is a region of an owner of its own, which reads no plan.
func faultRegion(t *testing.T, o *Owner, size int) *Region {
	t.Helper()
	r, err := o.Register(payload(t, size), 0, uint64(size), Attributes{Access: AccessAll, Name: "tensor 1"})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestFaults: operations end as a plan says, on this host and through a bridge in the same process, at the same calls
// each time.
func TestFaults(t *testing.T) {
	for _, row := range []struct {
		plan string
		want []string // of write, write, read, add, write
	}{
		{"rdma.write=IBV_WC_REM_OP_ERR@2", []string{"ok", "IBV_WC_REM_OP_ERR", "ok", "ok", "ok"}},
		{"rdma.read=IBV_WC_RNR_RETRY_EXC_ERR", []string{"ok", "ok", "IBV_WC_RNR_RETRY_EXC_ERR", "ok", "ok"}},
		{"rdma.atomic[name=tensor*]=IBV_WC_REM_ACCESS_ERR", []string{"ok", "ok", "ok", "IBV_WC_REM_ACCESS_ERR", "ok"}},
		{"rdma.atomic[name=other*]=IBV_WC_REM_ACCESS_ERR", []string{"ok", "ok", "ok", "ok", "ok"}},
		{"rdma.write=partial:3@2", []string{"ok", "IBV_WC_RETRY_EXC_ERR", "ok", "ok", "ok"}},
		{"rdma.write=partial:99+IBV_WC_GENERAL_ERR@1", []string{"IBV_WC_GENERAL_ERR", "ok", "ok", "ok", "ok"}},
		{"rdma.read=sever@1", []string{"ok", "ok", "IBV_WC_RETRY_EXC_ERR", "IBV_WC_RETRY_EXC_ERR", "IBV_WC_RETRY_EXC_ERR"}},
		{"rdma.resolve=IBV_WC_RESP_TIMEOUT_ERR@1", []string{"IBV_WC_RESP_TIMEOUT_ERR", "ok", "ok", "ok", "ok"}},
		{"rdma.resolve=sever", []string{"IBV_WC_RETRY_EXC_ERR", "IBV_WC_RETRY_EXC_ERR", "IBV_WC_RETRY_EXC_ERR",
			"IBV_WC_RETRY_EXC_ERR", "IBV_WC_RETRY_EXC_ERR"}},
	} {
		for range 2 {
			o := newOwner(t)
			r := faultRegion(t, o, 8192)
			withFaults(t, row.plan)
			p := newPeer(t)
			got := []string{}
			add := func(err error) {
				word := "ok"
				if err != nil {
					word = StatusOf(err).String()
				}
				got = append(got, word)
			}
			add(p.Write(r.Address(), []byte{1, 2, 3, 4, 5}))
			add(p.Write(r.Address()+8, []byte{1, 2, 3, 4, 5}))
			var b [5]byte
			add(p.Read(r.Address(), b[:]))
			_, err := p.FetchAdd64(r.Address()+64, 1)
			add(err)
			add(p.Write(r.Address()+16, []byte{6}))
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", row.plan, diff)
			}
		}
	}
}

// TestPartialWrite: the bytes that a plan leaves are there, and those behind them are as they were.
func TestPartialWrite(t *testing.T) {
	o := newOwner(t)
	fd := payload(t, 4096)
	r, err := o.Register(fd, 0, 4096, Attributes{Access: AccessAll})
	if err != nil {
		t.Fatal(err)
	}
	withFaults(t, "rdma.write=partial:3@1")
	p := newPeer(t)
	if err := p.Write(r.Address(), []byte{9, 9, 9, 9, 9}); !errors.Is(err, StatusRetryExcErr) {
		t.Errorf("%v", err)
	}
	want := []byte{9, 9, 9, pattern(3), pattern(4)}
	if got := mapped(t, fd, 4096)[:5]; !cmp.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestFaultsOfQueuePair: posted work that fails on command puts its pair in the error state.
func TestFaultsOfQueuePair(t *testing.T) {
	o := newOwner(t)
	r := faultRegion(t, o, 4096)
	withFaults(t, "rdma.write=IBV_WC_RETRY_EXC_ERR@2")
	q := newQueuePair(t, newPeer(t), 8)
	work := Work{Opcode: OpWrite, Flags: FlagSignalled, RemoteAddress: r.Address(), Local: []byte{1}}
	post(t, q, work, work, work)
	var got []Status
	for _, c := range poll(t, q, 3) {
		got = append(got, c.Status)
	}
	if diff := cmp.Diff([]Status{StatusSuccess, StatusRetryExcErr, StatusWRFlushErr}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestFaultsOfOwner: an owner answers late, or cuts the connection of a peer that asks.
func TestFaultsOfOwner(t *testing.T) {
	withFaults(t, "rdma.serve=delay:50ms@1; rdma.serve=sever@2")
	o := newOwner(t)
	r := faultRegion(t, o, 4096)
	began := time.Now()
	if _, err := newPeer(t).Resolve(context.Background(), r.Address()); err != nil ||
		time.Since(began) < 50*time.Millisecond {
		t.Errorf("after %v: %v", time.Since(began), err)
	}
	p := newPeer(t)
	if err := p.Write(r.Address(), []byte{1}); err == nil {
		t.Error("a peer whose connection was cut writes")
	} else {
		t.Log(err)
	}
}

// TestFaultsOfBridge: what a bridge does for peers on other hosts fails there, with the same statuses.
func TestFaultsOfBridge(t *testing.T) {
	o := newOwner(t)
	r := faultRegion(t, o, 4096)
	for _, row := range []struct {
		plan string
		want []string // of read, write, add, read
	}{
		{"rdma.write=IBV_WC_REM_OP_ERR@1", []string{"ok", "IBV_WC_REM_OP_ERR", "ok", "ok"}},
		{"rdma.read=partial:2@2", []string{"ok", "ok", "ok", "IBV_WC_RETRY_EXC_ERR"}},
		{"rdma.atomic=IBV_WC_BAD_RESP_ERR+delay:1ms", []string{"ok", "ok", "IBV_WC_BAD_RESP_ERR", "ok"}},
		{"rdma.write=sever", []string{"ok", "IBV_WC_RETRY_EXC_ERR", "IBV_WC_RETRY_EXC_ERR", "IBV_WC_RETRY_EXC_ERR"}},
	} {
		withFaults(t, row.plan)
		b := newBridge(t, ServeOptions{Owner: o})
		t.Setenv(config.Faults, "") // of the peer
		p := newFarPeer(t, b)
		got := []string{}
		add := func(err error) {
			word := "ok"
			if err != nil {
				word = StatusOf(err).String()
			}
			got = append(got, word)
		}
		var bytes [5]byte
		add(p.Read(r.Address(), bytes[:]))
		add(p.Write(r.Address(), bytes[:]))
		_, err := p.FetchAdd64(r.Address()+64, 1)
		add(err)
		add(p.Read(r.Address(), bytes[:]))
		if diff := cmp.Diff(row.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.plan, diff)
		}
	}
}

// TestWrongFaults: a plan with a mistake is an error of whoever reads it.
func TestWrongFaults(t *testing.T) {
	t.Setenv(config.Faults, "rdma.wirte=sever")
	if _, err := Open(context.Background(), ""); !errors.Is(err, config.ErrSetting) {
		t.Errorf("Open: %v", err)
	}
	if _, err := NewOwner(); !errors.Is(err, config.ErrSetting) {
		t.Errorf("NewOwner: %v", err)
	}
	if s := fmt.Sprint(fault.StatusNames[12]); s != StatusRetryExcErr.String() {
		t.Errorf("status 12 is %s", s)
	}
}
