package verbs

import (
	"runtime"
	"testing"

	"farside/internal/cabi"
	"farside/internal/ibv"
)

// calls calls a function as C does, and fails the test unless it gives what is wanted.
func calls(t testing.TB, want uintptr, f func(*cabi.Call), args ...uintptr) {
	t.Helper()
	if got := try(f, args...); got != want {
		t.Fatalf("%d, want %d", int64(got), int64(want))
	}
}

func try(f func(*cabi.Call), args ...uintptr) uintptr {
	var c cabi.Call
	copy(c.Args[:], args)
	f(&c)
	return c.Result
}

// made is the address that a function returns.
func made(t testing.TB, f func(*cabi.Call), args ...uintptr) uintptr {
	t.Helper()
	at := try(f, args...)
	if at == 0 {
		t.Fatal("nothing was made")
	}
	return at
}

// loop is a queue pair that is connected with itself, and memory that is registered.
type loop struct {
	cq, qp  uintptr
	memory  []byte
	send    ibv.SendWR
	receive ibv.RecvWR
	sge     ibv.SGE
	bad     uintptr
	wcs     [4]ibv.WC
	call    cabi.Call
}

func newLoop(t testing.TB) *loop {
	t.Helper()
	entries()
	list := made(t, getDeviceList, 0)
	ctx := made(t, openDevice, array[uintptr](list, 1)[0])
	pd := made(t, allocPD, ctx)
	l := &loop{cq: made(t, createCQ, ctx, 64, 0, 0, 0), memory: make([]byte, 4096)}
	var pin runtime.Pinner
	pin.Pin(l)
	t.Cleanup(pin.Unpin)
	init := &ibv.QPInitAttr{SendCQ: l.cq, RecvCQ: l.cq, QPType: ibv.QPT_RC,
		Cap: ibv.QPCap{MaxSendWR: 16, MaxRecvWR: 16, MaxSendSGE: 2, MaxRecvSGE: 2}}
	l.qp = made(t, createQP, pd, address(init))
	mr := made(t, regMR, pd, address(&l.memory[0]), 4096, uintptr(writing))
	l.sge = ibv.SGE{Addr: uint64(address(&l.memory[0])), Length: 64, LKey: at[ibv.MR](mr).LKey}
	l.receive = ibv.RecvWR{SGList: address(&l.sge), NumSGE: 1}
	l.send = ibv.SendWR{SGList: address(&l.sge), NumSGE: 1, Opcode: ibv.WR_SEND, SendFlags: ibv.SEND_SIGNALED}
	gid, _ := contextAt(ctx).engine.Device.GID(0)
	attr := &ibv.QPAttr{QPState: ibv.QPS_INIT, PortNum: 1}
	modify := func(mask ibv.QPAttrMask) { calls(t, 0, modifyQP, l.qp, address(attr), uintptr(mask|ibv.QP_STATE)) }
	modify(ibv.QP_PKEY_INDEX | ibv.QP_PORT | ibv.QP_ACCESS_FLAGS)
	*attr = ibv.QPAttr{QPState: ibv.QPS_RTR, PathMTU: ibv.MTU_1024, DestQPNum: at[ibv.QP](l.qp).QPNum, MaxDestRDAtomic: 1,
		AHAttr: ibv.AHAttr{IsGlobal: 1, PortNum: 1, GRH: ibv.GlobalRoute{DGID: gid}}}
	modify(ibv.QP_AV | ibv.QP_PATH_MTU | ibv.QP_DEST_QPN | ibv.QP_RQ_PSN | ibv.QP_MAX_DEST_RD_ATOMIC |
		ibv.QP_MIN_RNR_TIMER)
	*attr = ibv.QPAttr{QPState: ibv.QPS_RTS, Timeout: 14, RetryCnt: 7, RNRRetry: 7, MaxRDAtomic: 1}
	modify(ibv.QP_TIMEOUT | ibv.QP_RETRY_CNT | ibv.QP_RNR_RETRY | ibv.QP_SQ_PSN | ibv.QP_MAX_QP_RD_ATOMIC)
	return l
}

// hot calls a function without allocating.
func (l *loop) hot(f func(*cabi.Call), a0, a1, a2 uintptr) uintptr {
	l.call = cabi.Call{}
	l.call.Args[0], l.call.Args[1], l.call.Args[2] = a0, a1, a2
	f(&l.call)
	return l.call.Result
}

// round sends one message, and takes both completions.
func (l *loop) round(t testing.TB) {
	bad := address(&l.bad)
	if l.hot(postRecv, l.qp, address(&l.receive), bad) != 0 || l.hot(reqNotifyCQ, l.cq, 0, 0) != 0 ||
		l.hot(postSend, l.qp, address(&l.send), bad) != 0 {
		t.Fatal("a post failed")
	}
	for n := uintptr(0); n < 2; {
		n += l.hot(pollCQ, l.cq, 4, address(&l.wcs[0]))
	}
}

func TestHotFunctionsDoNotAllocate(t *testing.T) {
	l := newLoop(t)
	for range 100 {
		l.round(t)
	}
	if n := testing.AllocsPerRun(1000, func() { l.round(t) }); n != 0 && !raceEnabled {
		t.Errorf("%v allocations", n)
	}
	if l.wcs[0].Status != ibv.WC_SUCCESS {
		t.Errorf("the work failed: %+v", l.wcs[0])
	}
}

func BenchmarkRound(b *testing.B) {
	l := newLoop(b)
	for b.Loop() {
		l.round(b)
	}
}
