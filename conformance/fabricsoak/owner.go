package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"farside/rdmasim"
)

// maxRegions is how many regions an owner has at a time.
const maxRegions = 6

// payload is memory that is a region now and then.
type payload struct {
	fd     int
	bytes  []byte
	region *rdmasim.Region
}

func newPayload(size int) (*payload, error) {
	fd, err := unix.MemfdCreate("farside-fabricsoak", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, err
	}
	if err = unix.Ftruncate(fd, int64(size)); err == nil {
		_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW)
	}
	p := &payload{fd: fd}
	if err == nil {
		p.bytes, err = unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	}
	if err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	return p, nil
}

func (p *payload) drop() {
	_ = unix.Munmap(p.bytes)
	_ = unix.Close(p.fd)
}

// register makes the payload a region with a new tag, all zeros behind it.
func (p *payload) register(o *rdmasim.Owner, rng *rand.Rand) (err error) {
	clear(p.bytes)
	putWord(p.bytes, tagAt/8, 1+rng.Uint64N(1<<16-1))
	p.region, err = o.Register(p.fd, 0, uint64(len(p.bytes)),
		rdmasim.Attributes{Access: rdmasim.AccessAll, Name: os.Getenv(nameVariable)})
	return err
}

// free ends the region, at once writes something else to its memory, and looks whether that stays.
func (p *payload) free(rng *rand.Rand, t *tally) error {
	if err := p.region.Close(); err != nil {
		return err
	}
	for i := range len(p.bytes) / 8 {
		putWord(p.bytes, i, poison)
	}
	time.Sleep(time.Duration(rng.IntN(5)) * time.Millisecond)
	for i := range len(p.bytes) / 8 {
		if w := getWord(p.bytes, i); w != poison {
			return fmt.Errorf("word %d of region %#x became %#x after it was freed", i, p.region.Address(), w)
		}
	}
	t.checked.Add(uint64(len(p.bytes)))
	return nil
}

// playOwner lets regions come and go.
func playOwner(stop chan struct{}, t *tally, rng *rand.Rand) error {
	o, err := rdmasim.NewOwner()
	if err != nil {
		return err
	}
	defer o.Close()
	var all []*payload
	for {
		select {
		case <-stop:
			for _, p := range all {
				if err := p.free(rng, t); err != nil {
					return err
				}
				p.drop()
			}
			return nil
		case <-time.After(time.Duration(rng.IntN(60)) * time.Millisecond):
		}
		t.operations.Add(1)
		if len(all) < maxRegions && rng.IntN(2) == 0 {
			p, err := newPayload(minSize + rng.IntN(maxSize-minSize)&^7)
			if err == nil {
				err = p.register(o, rng)
			}
			if err != nil {
				return err
			}
			t.regions.Add(1)
			all = append(all, p)
			continue
		}
		if len(all) == 0 || rng.IntN(3) > 0 {
			continue
		}
		i := rng.IntN(len(all))
		p := all[i]
		if err := p.free(rng, t); err != nil {
			return err
		}
		if rng.IntN(2) == 0 { // the same pages, as another region
			if err := p.register(o, rng); err != nil {
				return err
			}
			t.regions.Add(1)
			continue
		}
		p.drop()
		all = append(all[:i], all[i+1:]...)
	}
}
