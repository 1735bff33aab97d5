package engine

import (
	"golang.org/x/sys/unix"

	"farside/internal/ibv"
	"farside/verbs/internal/packet"
)

// transition is what a change of state needs, and what else it may change.
type transition struct{ required, optional ibv.QPAttrMask }

type change struct{ from, to ibv.QPState }

// The attributes that the changes of state have in common (InfiniBand Architecture Specification, volume 1,
// section 11.2.5.2, table 95; ibv_modify_qp(3)).
const (
	initConnected = ibv.QP_PKEY_INDEX | ibv.QP_PORT | ibv.QP_ACCESS_FLAGS
	initDatagram  = ibv.QP_PKEY_INDEX | ibv.QP_PORT | ibv.QP_QKEY
	rtrUnreliable = ibv.QP_AV | ibv.QP_PATH_MTU | ibv.QP_DEST_QPN | ibv.QP_RQ_PSN
	rtrReliable   = rtrUnreliable | ibv.QP_MAX_DEST_RD_ATOMIC | ibv.QP_MIN_RNR_TIMER
	rtsReliable   = ibv.QP_TIMEOUT | ibv.QP_RETRY_CNT | ibv.QP_RNR_RETRY | ibv.QP_SQ_PSN | ibv.QP_MAX_QP_RD_ATOMIC
	moreConnected = ibv.QP_ACCESS_FLAGS | ibv.QP_ALT_PATH
	runConnected  = ibv.QP_CUR_STATE | moreConnected | ibv.QP_PATH_MIG_STATE
	runDatagram   = ibv.QP_CUR_STATE | ibv.QP_QKEY
	drainReliable = ibv.QP_PORT | ibv.QP_AV | ibv.QP_TIMEOUT | ibv.QP_RETRY_CNT | ibv.QP_RNR_RETRY |
		ibv.QP_MAX_QP_RD_ATOMIC | ibv.QP_MAX_DEST_RD_ATOMIC | moreConnected | ibv.QP_PKEY_INDEX |
		ibv.QP_MIN_RNR_TIMER | ibv.QP_PATH_MIG_STATE
)

// transitions are the changes of state that there are, beside those to RESET and ERR, which need nothing.
var transitions = map[ibv.QPType]map[change]transition{
	ibv.QPT_RC: {
		{ibv.QPS_RESET, ibv.QPS_INIT}: {required: initConnected},
		{ibv.QPS_INIT, ibv.QPS_INIT}:  {optional: initConnected},
		{ibv.QPS_INIT, ibv.QPS_RTR}:   {rtrReliable, moreConnected | ibv.QP_PKEY_INDEX},
		{ibv.QPS_RTR, ibv.QPS_RTS}:    {rtsReliable, runConnected | ibv.QP_MIN_RNR_TIMER},
		{ibv.QPS_RTS, ibv.QPS_RTS}:    {optional: runConnected | ibv.QP_MIN_RNR_TIMER},
		{ibv.QPS_RTS, ibv.QPS_SQD}:    {optional: ibv.QP_CUR_STATE | ibv.QP_EN_SQD_ASYNC_NOTIFY},
		{ibv.QPS_SQD, ibv.QPS_RTS}:    {optional: runConnected | ibv.QP_MIN_RNR_TIMER},
		{ibv.QPS_SQD, ibv.QPS_SQD}:    {optional: drainReliable},
	},
	ibv.QPT_XRC_SEND: {
		{ibv.QPS_RESET, ibv.QPS_INIT}: {required: initConnected},
		{ibv.QPS_INIT, ibv.QPS_INIT}:  {optional: initConnected},
		{ibv.QPS_INIT, ibv.QPS_RTR}:   {rtrUnreliable, moreConnected | ibv.QP_PKEY_INDEX},
		{ibv.QPS_RTR, ibv.QPS_RTS}:    {rtsReliable, runConnected},
		{ibv.QPS_RTS, ibv.QPS_RTS}:    {optional: runConnected},
		{ibv.QPS_RTS, ibv.QPS_SQD}:    {optional: ibv.QP_CUR_STATE | ibv.QP_EN_SQD_ASYNC_NOTIFY},
		{ibv.QPS_SQD, ibv.QPS_RTS}:    {optional: runConnected},
		{ibv.QPS_SQD, ibv.QPS_SQD}:    {optional: drainReliable},
	},
	ibv.QPT_XRC_RECV: {
		{ibv.QPS_RESET, ibv.QPS_INIT}: {required: initConnected},
		{ibv.QPS_INIT, ibv.QPS_INIT}:  {optional: initConnected},
		{ibv.QPS_INIT, ibv.QPS_RTR}:   {rtrReliable, moreConnected | ibv.QP_PKEY_INDEX},
		{ibv.QPS_RTR, ibv.QPS_RTS}:    {ibv.QP_TIMEOUT | ibv.QP_SQ_PSN, runConnected | ibv.QP_MIN_RNR_TIMER},
		{ibv.QPS_RTS, ibv.QPS_RTS}:    {optional: runConnected | ibv.QP_MIN_RNR_TIMER},
		{ibv.QPS_RTS, ibv.QPS_SQD}:    {optional: ibv.QP_CUR_STATE | ibv.QP_EN_SQD_ASYNC_NOTIFY},
		{ibv.QPS_SQD, ibv.QPS_RTS}:    {optional: runConnected | ibv.QP_MIN_RNR_TIMER},
		{ibv.QPS_SQD, ibv.QPS_SQD}:    {optional: drainReliable},
	},
	ibv.QPT_UC: {
		{ibv.QPS_RESET, ibv.QPS_INIT}: {required: initConnected},
		{ibv.QPS_INIT, ibv.QPS_INIT}:  {optional: initConnected},
		{ibv.QPS_INIT, ibv.QPS_RTR}:   {rtrUnreliable, moreConnected | ibv.QP_PKEY_INDEX},
		{ibv.QPS_RTR, ibv.QPS_RTS}:    {ibv.QP_SQ_PSN, runConnected},
		{ibv.QPS_RTS, ibv.QPS_RTS}:    {optional: runConnected},
		{ibv.QPS_RTS, ibv.QPS_SQD}:    {optional: ibv.QP_CUR_STATE | ibv.QP_EN_SQD_ASYNC_NOTIFY},
		{ibv.QPS_SQD, ibv.QPS_RTS}:    {optional: runConnected},
		{ibv.QPS_SQD, ibv.QPS_SQD}:    {optional: ibv.QP_AV | moreConnected | ibv.QP_PKEY_INDEX | ibv.QP_PATH_MIG_STATE},
		{ibv.QPS_SQE, ibv.QPS_RTS}:    {optional: ibv.QP_CUR_STATE | ibv.QP_ACCESS_FLAGS},
	},
	ibv.QPT_UD: {
		{ibv.QPS_RESET, ibv.QPS_INIT}: {required: initDatagram},
		{ibv.QPS_INIT, ibv.QPS_INIT}:  {optional: initDatagram},
		{ibv.QPS_INIT, ibv.QPS_RTR}:   {optional: ibv.QP_PKEY_INDEX | ibv.QP_QKEY},
		{ibv.QPS_RTR, ibv.QPS_RTS}:    {ibv.QP_SQ_PSN, runDatagram},
		{ibv.QPS_RTS, ibv.QPS_RTS}:    {optional: runDatagram},
		{ibv.QPS_RTS, ibv.QPS_SQD}:    {optional: ibv.QP_CUR_STATE | ibv.QP_EN_SQD_ASYNC_NOTIFY},
		{ibv.QPS_SQD, ibv.QPS_RTS}:    {optional: runDatagram},
		{ibv.QPS_SQD, ibv.QPS_SQD}:    {optional: ibv.QP_PKEY_INDEX | ibv.QP_QKEY},
		{ibv.QPS_SQE, ibv.QPS_RTS}:    {optional: runDatagram},
	},
}

// ignored are the attributes that either side of XRC does not have. Programs give them all the same, as for RC, and the
// kernel leaves them out.
var ignored = map[ibv.QPType]ibv.QPAttrMask{
	ibv.QPT_XRC_SEND: ibv.QP_MAX_DEST_RD_ATOMIC | ibv.QP_MIN_RNR_TIMER,
	ibv.QPT_XRC_RECV: ibv.QP_MAX_QP_RD_ATOMIC | ibv.QP_RETRY_CNT | ibv.QP_RNR_RETRY,
}

// allowed says whether a change of state exists and has the attributes that it needs, and no others.
func allowed(kind ibv.QPType, from, to ibv.QPState, mask ibv.QPAttrMask) bool {
	t, ok := transitions[kind][change{from, to}]
	switch {
	case to == ibv.QPS_RESET, to == ibv.QPS_ERR && from != ibv.QPS_RESET:
		t, ok = transition{}, true
	}
	mask &^= ibv.QP_STATE
	return ok && mask&t.required == t.required && mask&^(t.required|t.optional) == 0
}

// Modify is ibv_modify_qp: it changes the attributes of the mask, and the state if that is among them. After an error
// nothing has changed. Errors: EINVAL for a change of state that there isn't, for attributes that are missing,
// superfluous or out of range; the operating system's for a peer's address that can't be used.
func (q *QP) Modify(a *ibv.QPAttr, mask ibv.QPAttrMask) error {
	defer guardFaults()()
	mask &^= ignored[q.kind]
	q.mu.Lock()
	defer q.mu.Unlock()
	to := q.state
	if mask&ibv.QP_STATE != 0 {
		to = a.QPState
	}
	if mask&ibv.QP_CUR_STATE != 0 && a.CurQPState != q.state || !allowed(q.kind, q.state, to, mask) ||
		!q.inRange(a, mask) {
		return unix.EINVAL
	}
	if mask&ibv.QP_AV != 0 && !q.drained() {
		return unix.EINVAL // packets on their way are counted by the old way's MTU
	}
	from, next := q.state, q.attr
	set(&next, a, mask)
	if err := q.connect(&next, a, mask); err != nil {
		return err
	}
	switch {
	case to == ibv.QPS_RESET:
		q.reset()
		return nil
	case to == ibv.QPS_ERR:
		q.res.answers.reset()
		q.toError()
		return nil
	}
	q.state = to
	if mask&ibv.QP_RQ_PSN != 0 {
		q.res.reset(a.RQPSN & packet.PSNMask)
	}
	if mask&ibv.QP_MAX_DEST_RD_ATOMIC != 0 {
		q.res.setDepth(int(a.MaxDestRDAtomic))
	}
	if mask&ibv.QP_SQ_PSN != 0 {
		q.req.begin(a.SQPSN & packet.PSNMask)
	}
	q.req.progress(q)
	q.publish()
	switch {
	case to == ibv.QPS_SQD && from == ibv.QPS_RTS:
		q.notify = mask&ibv.QP_EN_SQD_ASYNC_NOTIFY != 0 && a.EnSqdAsyncNotify != 0
		q.checkDrained()
	case to == ibv.QPS_RTS:
		q.transmit()
	}
	return nil
}

// inRange checks the values of attributes.
func (q *QP) inRange(a *ibv.QPAttr, mask ibv.QPAttrMask) bool {
	for _, c := range [...]struct {
		mask ibv.QPAttrMask
		ok   bool
	}{
		{ibv.QP_PORT, a.PortNum == 1},
		{ibv.QP_PKEY_INDEX, a.PKeyIndex == 0},
		{ibv.QP_ACCESS_FLAGS, a.QPAccessFlags&^(remoteRights|ibv.ACCESS_LOCAL_WRITE|ibv.ACCESS_MW_BIND) == 0},
		{ibv.QP_PATH_MTU, a.PathMTU >= ibv.MTU_256 && a.PathMTU <= q.device.options.MTU},
		{ibv.QP_DEST_QPN, a.DestQPNum <= packet.PSNMask},
		{ibv.QP_MAX_QP_RD_ATOMIC, a.MaxRDAtomic <= maxRDAtomic},
		{ibv.QP_MAX_DEST_RD_ATOMIC, a.MaxDestRDAtomic <= maxRDAtomic},
		{ibv.QP_MIN_RNR_TIMER, a.MinRNRTimer <= 31},
		{ibv.QP_TIMEOUT, a.Timeout <= 31},
		{ibv.QP_RETRY_CNT, a.RetryCnt <= 7},
		{ibv.QP_RNR_RETRY, a.RNRRetry <= 7},
		// There is one port: no path to migrate to.
		{ibv.QP_ALT_PATH, false},
		{ibv.QP_PATH_MIG_STATE, a.PathMigState == ibv.MIG_MIGRATED},
	} {
		if mask&c.mask != 0 && !c.ok {
			return false
		}
	}
	return true
}

// set copies the attributes of a mask.
func set(to, a *ibv.QPAttr, mask ibv.QPAttrMask) {
	for _, c := range [...]struct {
		mask ibv.QPAttrMask
		copy func()
	}{
		{ibv.QP_PORT, func() { to.PortNum = a.PortNum }},
		{ibv.QP_PKEY_INDEX, func() { to.PKeyIndex = a.PKeyIndex }},
		{ibv.QP_ACCESS_FLAGS, func() { to.QPAccessFlags = a.QPAccessFlags }},
		{ibv.QP_QKEY, func() { to.QKey = a.QKey }},
		{ibv.QP_AV, func() { to.AHAttr = a.AHAttr }},
		{ibv.QP_PATH_MTU, func() { to.PathMTU = a.PathMTU }},
		{ibv.QP_DEST_QPN, func() { to.DestQPNum = a.DestQPNum }},
		{ibv.QP_MAX_QP_RD_ATOMIC, func() { to.MaxRDAtomic = a.MaxRDAtomic }},
		{ibv.QP_MAX_DEST_RD_ATOMIC, func() { to.MaxDestRDAtomic = a.MaxDestRDAtomic }},
		{ibv.QP_MIN_RNR_TIMER, func() { to.MinRNRTimer = a.MinRNRTimer }},
		{ibv.QP_TIMEOUT, func() { to.Timeout = a.Timeout }},
		{ibv.QP_RETRY_CNT, func() { to.RetryCnt = a.RetryCnt }},
		{ibv.QP_RNR_RETRY, func() { to.RNRRetry = a.RNRRetry }},
		{ibv.QP_EN_SQD_ASYNC_NOTIFY, func() { to.EnSqdAsyncNotify = a.EnSqdAsyncNotify }},
	} {
		if mask&c.mask != 0 {
			c.copy()
		}
	}
}

// connect finds the way to the peer for a new address vector, and takes the attributes over. Under q.mu.
func (q *QP) connect(next, a *ibv.QPAttr, mask ibv.QPAttrMask) error {
	if mask&ibv.QP_AV == 0 {
		q.attr = *next
		return nil
	}
	r, err := q.device.newRoute(&a.AHAttr)
	if err != nil {
		return err
	}
	p, err := q.device.open(&r, next.DestQPNum)
	if err != nil {
		return err
	}
	q.attr, q.route = *next, r
	q.setPath(p)
	return nil
}

// drained says that no send is under way. Under q.mu.
func (q *QP) drained() bool {
	return q.sq.cursor == q.sq.done && (q.sq.done == q.sq.posted || !q.sq.at(q.sq.done).started)
}

// checkDrained raises the event of a send queue that has drained, once. Under q.mu.
func (q *QP) checkDrained() {
	if q.state == ibv.QPS_SQD && q.notify && q.drained() {
		q.notify = false
		q.raise(ibv.EVENT_SQ_DRAINED)
	}
}
