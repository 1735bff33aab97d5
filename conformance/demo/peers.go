package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"farside/rdmasim"
)

const (
	peers = 4    // that use remote memory at a time: one in C, the others in Go
	adds  = 1000 // that each makes
)

// peerProgram is native/peer.c, compiled.
const peerProgram = "build/demo_peer"

// compilePeer compiles native/peer.c against the library that make build wrote.
func compilePeer() error {
	out, err := exec.Command("gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-o", peerProgram,
		"conformance/demo/native/peer.c",
		"-Icmd/libfarside_rdma", "-Lbuild", "-lfarside_rdma", "-Wl,-rpath,$ORIGIN").CombinedOutput()
	if err != nil {
		return fmt.Errorf("gcc, in the directory of Farside's sources after make build: %w\n%s", err, out)
	}
	return nil
}

// compete runs the peer in C, which checks and answers n bytes at the address, and the ones in Go, which add
// in competition with it.
func compete(fabric string, address, n uint64) error {
	at := fmt.Sprintf("%#x", address)
	commands := []*exec.Cmd{exec.Command(peerProgram, fabric, at, fmt.Sprint(n), fmt.Sprint(peers), fmt.Sprint(adds))}
	for range peers - 1 {
		commands = append(commands, exec.Command("/proc/self/exe", "adder", fabric, at))
	}
	var failed error
	for i, c := range commands {
		c.Stdout, c.Stderr = os.Stdout, os.Stderr
		if failed = c.Start(); failed != nil {
			commands = commands[:i]
			break
		}
	}
	for _, c := range commands {
		if failed != nil {
			_ = c.Process.Kill()
		}
		if err := c.Wait(); err != nil && failed == nil {
			failed = fmt.Errorf("%s: %w", filepath.Base(c.Path), err)
		}
	}
	return failed
}

// adder is a peer in Go that adds only.
func adder() error {
	if len(os.Args) != 4 {
		return errors.New("usage: adder FABRIC ADDRESS")
	}
	address, err := strconv.ParseUint(os.Args[3], 0, 64)
	if err != nil {
		return err
	}
	peer, err := rdmasim.Open(context.Background(), os.Args[2])
	if err != nil {
		return err
	}
	defer peer.Close()
	if err := meet(peer, address+8); err != nil {
		return err
	}
	for range adds {
		if _, err := peer.FetchAdd64(address, 1); err != nil {
			return err
		}
	}
	return nil
}

// meet returns when all peers have called it.
func meet(peer *rdmasim.Peer, word uint64) error {
	deadline := time.Now().Add(time.Minute)
	if _, err := peer.FetchAdd64(word, 1); err != nil {
		return err
	}
	for come := make([]byte, 8); binary.NativeEndian.Uint64(come) < peers; runtime.Gosched() {
		if err := peer.Read(word, come); err != nil {
			return err
		}
		if time.Now().After(deadline) {
			return errors.New("the other peers did not come")
		}
	}
	return nil
}
