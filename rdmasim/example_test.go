package rdmasim_test

import (
	"context"
	"errors"
	"fmt"

	"farside/rdmasim"

	"golang.org/x/sys/unix"
)

func Example() {
	// The owner: a sealed memfd becomes a region.
	fd, err := unix.MemfdCreate("payload", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		panic(err)
	}
	defer unix.Close(fd)
	if err := unix.Ftruncate(fd, 1<<20); err != nil {
		panic(err)
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW); err != nil {
		panic(err)
	}
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
