package rdmasim_test

import (
	"context"
	"errors"
	"fmt"

	"farside/rdmasim"

	"golang.org/x/sys/unix"
)

// memfd is memory that can become a region: a memfd that can't be shortened.
func memfd(size int64) int {
	fd, err := unix.MemfdCreate("payload", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		panic(err)
	}
	if err := unix.Ftruncate(fd, size); err != nil {
		panic(err)
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW); err != nil {
		panic(err)
	}
	return fd
}

func Example() {
	// The owner, as the driver does it for device memory.
	fd := memfd(1 << 20)
	defer unix.Close(fd)
	region, err := rdmasim.Register(fd, 0, 1<<20, rdmasim.Attributes{Access: rdmasim.AccessAll})
	if err != nil {
		panic(err)
	}

	// The peer, as a rule another process, has only the address.
	peer, err := rdmasim.Open(context.Background(), "")
	if err != nil {
		panic(err)
	}
	defer peer.Close()
	if err := peer.Write(region.Address()+64, []byte("one-sided")); err != nil {
		panic(err)
	}
	back := make([]byte, 9)
	if err := peer.Read(region.Address()+64, back); err != nil {
		panic(err)
	}
	fmt.Printf("%s\n", back)

	region.Close()
	err = peer.Read(region.Address()+64, back)
	fmt.Println(errors.Is(err, rdmasim.ErrFreed), rdmasim.StatusOf(err))
	// Output:
	// one-sided
	// true IBV_WC_REM_ACCESS_ERR
}

// Work is posted in batches, runs in its order beside the caller, and says how it ended. After an error, the
// rest is flushed until the pair is reset.
func ExampleQueuePair() {
	fd := memfd(4096)
	defer unix.Close(fd)
	region, err := rdmasim.Register(fd, 0, 4096, rdmasim.Attributes{Access: rdmasim.AccessAll})
	if err != nil {
		panic(err)
	}
	defer region.Close()
	ctx := context.Background()
	peer, err := rdmasim.Open(ctx, "")
	if err != nil {
		panic(err)
	}
	defer peer.Close()
	pair, err := peer.NewQueuePair(16)
	if err != nil {
		panic(err)
	}

	old, at := make([]byte, 8), region.Address()
	err = pair.Post([]rdmasim.Work{
		{Opcode: rdmasim.OpWrite, RemoteAddress: at, Local: []byte{40, 0, 0, 0, 0, 0, 0, 0}},
		{ID: 1, Opcode: rdmasim.OpFetchAdd, RemoteAddress: at, Local: old, Operand: 2, Flags: rdmasim.FlagSignalled},
		{ID: 2, Opcode: rdmasim.OpWrite, RemoteAddress: at + 4090, Local: old},
		{ID: 3, Opcode: rdmasim.OpRead, RemoteAddress: at, Local: old},
	})
	if err != nil {
		panic(err)
	}
	completions := make([]rdmasim.Completion, 16)
	for got := 0; got < 3; {
		n, err := pair.Poll(ctx, completions[got:])
		if err != nil {
			panic(err)
		}
		got += n
	}
	for _, c := range completions[:3] {
		fmt.Println(c.ID, c.Opcode, c.Status)
	}
	fmt.Println(old[0], errors.Is(completions[1].Err, rdmasim.ErrOutOfRange))
	pair.Reset()
	// Output:
	// 1 fetch-add IBV_WC_SUCCESS
	// 2 write IBV_WC_REM_ACCESS_ERR
	// 3 read IBV_WC_WR_FLUSH_ERR
	// 40 true
}
