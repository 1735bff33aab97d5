package shm

import (
	"testing"
	"time"

	"farside/verbs/internal/packet"
)

var (
	aRequest = []byte{byte(packet.RC | packet.WriteOnly)}
	anAnswer = []byte{byte(packet.RC | packet.Acknowledge)}
)

// restless is a host without its goroutine, and a way to it that is ready.
func restless(t *testing.T) (h *Host, p *Path, in *inbox) {
	t.Helper()
	h, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	in = newInbox()
	h.receiver = in
	h.running.Go(func() { h.serve(h.names[0]) })
	qpn, err := h.QPN()
	if err != nil {
		t.Fatal(err)
	}
	if p, err = open(t, newInbox()).Path(home, home, qpn); err != nil {
		t.Fatal(err)
	}
	send(t, p, aRequest)
	for end := time.Now().Add(patientTest); len(in.arrived) == 0; time.Sleep(time.Millisecond) {
		if h.Poll(); time.Now().After(end) {
			t.Fatal("the first packet does not arrive")
		}
	}
	<-in.arrived
	for end := time.Now().Add(patientTest); !rung(h); time.Sleep(time.Millisecond) { // by begin
		if time.Now().After(end) {
			t.Fatal("a new session doesn't wake the host")
		}
	}
	h.polled.Store(false)
	return h, p, in
}

const patientTest = 30 * time.Second

// rung says whether somebody has woken a host since it was last asked.
func rung(h *Host) bool { return h.rest(0) }

// A thread that polls takes answers by itself; requests wake the goroutine, if it asks for that.
func TestWhatWakes(t *testing.T) {
	h, p, _ := restless(t)
	for _, c := range []struct {
		state  uint64
		packet []byte
		wakes  bool
	}{{awake, aRequest, false}, {awake, anAnswer, false}, {answers, aRequest, true}, {answers, anAnswer, false},
		{asleep, aRequest, true}, {asleep, anAnswer, true}, {answers, nil, true}} {
		h.page.word(sleepsAt).Store(c.state)
		send(t, p, c.packet)
		if got := rung(h); got != c.wakes {
			t.Errorf("packet %x in state %d wakes: %v", c.packet, c.state, got)
		}
	}
	h.page.word(sleepsAt).Store(answers)
	h.Watch(1)
	if !rung(h) {
		t.Error("somebody is going to sleep until an answer arrives, and the goroutine doesn't know")
	}
	h.Watch(-1)
}

// The goroutine asks to be woken for requests when threads that poll have left one, as long as it gets some.
func TestBesidePollers(t *testing.T) {
	h, p, in := restless(t)
	send(t, p, aRequest)
	h.polled.Store(true)
	if left := h.besidePollers(0, nap); left != 0 || len(in.arrived) != 0 {
		t.Errorf("a thread polled meanwhile: %d wake-ups, %d packets taken", left, len(in.arrived))
	}
	h.polled.Store(false)
	if left := h.besidePollers(0, nap); left != wakeUps || len(in.arrived) != 1 {
		t.Errorf("nobody polled: %d wake-ups, %d packets taken", left, len(in.arrived))
	}
	if left := h.besidePollers(3, nap); left != 3 {
		t.Errorf("nothing has come: %d wake-ups are left of 3", left)
	}
	wake(h.event.Int())
	if left := h.besidePollers(3, nap); left != 2 {
		t.Errorf("a fruitless wake-up: %d are left of 3", left)
	}
	send(t, p, anAnswer)
	if left := h.besidePollers(3, nap); left != wakeUps || len(in.arrived) != 2 {
		t.Errorf("something has come: %d wake-ups are left, %d packets taken", left, len(in.arrived))
	}
	send(t, p, aRequest)
	h.polled.Store(true)
	if left := h.besidePollers(3, nap); left != 2 || len(in.arrived) != 3 {
		t.Errorf("something has come to a thread that polls: %d wake-ups are left of 3, %d packets taken", left,
			len(in.arrived))
	}
	h.current()[0].theirs.mu.Lock()
	left := h.besidePollers(3, nap)
	h.current()[0].theirs.mu.Unlock()
	if left != 2 {
		t.Errorf("a thread is at the ring: %d wake-ups are left of 3", left)
	}
	if state := h.page.word(sleepsAt).Load(); state != awake {
		t.Errorf("state %d", state)
	}
}

// While a thread polls and takes nothing, requests arrive all the same. The goroutine sleeps when all is over.
func TestPollerElsewhere(t *testing.T) {
	in := newInbox()
	from, to := open(t, newInbox()), open(t, in)
	qpn, _ := to.QPN()
	p, err := from.Path(home, home, qpn)
	if err != nil {
		t.Fatal(err)
	}
	for range 200 {
		to.polled.Store(true)
		send(t, p, aRequest)
		within(t, in.arrived, "request")
	}
	state := to.page.word(sleepsAt)
	end := time.Now().Add(patientTest)
	for still := 0; still < 200; still++ {
		if state.Load() != asleep {
			still = 0
		}
		if time.Now().After(end) {
			t.Fatal("the goroutine of an idle host does not sleep")
		}
		time.Sleep(500 * time.Microsecond)
	}
}

// A thread that polls for answers reminds a process that takes nothing, though its page says that it need not be woken.
func TestRemind(t *testing.T) {
	h, p, in := restless(t)
	h.page.word(sleepsAt).Store(awake)
	poll := func(times int) {
		for range times {
			p.host.Poll()
		}
	}
	poll(3 * fruitless)
	if rung(h) {
		t.Error("nothing lies in the ring, and it is woken")
	}
	send(t, p, aRequest)
	poll(2 * fruitless)
	if !rung(h) {
		t.Fatal("a request lies in the ring, and nobody is woken")
	}
	wake(h.event.Int())
	h.polled.Store(true)
	if left := h.besidePollers(0, longestNap); left != 0 || len(in.arrived) != 1 {
		t.Errorf("a thread polls: %d wake-ups, %d packets taken", left, len(in.arrived))
	}
	poll(3 * fruitless)
	if rung(h) {
		t.Error("all has been taken, and it is woken")
	}
}
