package exec

import (
	"encoding/binary"
	"math"
	"math/bits"
	"sync"
	"sync/atomic"

	"farside/internal/syncobj"
	"farside/internal/vk"
)

// maxQueries bounds a pool to 64 MiB of host memory.
const maxQueries = 1 << 22

// resultFlags are the VkQueryResultFlagBits that queries of these types know.
const resultFlags = vk.QUERY_RESULT_64_BIT | vk.QUERY_RESULT_WAIT_BIT |
	vk.QUERY_RESULT_WITH_AVAILABILITY_BIT | vk.QUERY_RESULT_PARTIAL_BIT

// ErrNotReady is VK_NOT_READY: a result was asked for that is not available yet.
var ErrNotReady = vk.Errorf(vk.NOT_READY, vk.NoVUID, "a query is not available yet")

// QueryPool is a VkQueryPool. Queues write it and the host reads it at the same time, without a lock: a query's
// value is stored before its availability and loaded after it. Where a command of the host and one of a queue
// have the same rule, errors name the host's.
type QueryPool struct {
	kind       vk.QueryType
	queries    []query
	drawn      bool                           // draws make queries available
	statistics vk.QueryPipelineStatisticFlags // of pipeline statistics
	more       []uint64                       // their results, stored before availability

	waiting atomic.Int32 // len(waiters), for those who write without taking mu
	mu      sync.Mutex
	waiters []waiter // who blocks in Results
}

type query struct {
	value     atomic.Uint64
	available atomic.Bool
}

// waiter waits until query is available; ready, a fence payload, is signalled then.
type waiter struct {
	query uint32
	ready *syncobj.Payload
}

// NewQueryPool returns a pool of count queries, all unavailable. Timestamps are what queues here can write;
// Vulkan 1.0 has occlusion queries on every device, so a pool of them exists, though no queue can run one.
func NewQueryPool(kind vk.QueryType, count uint32) (*QueryPool, error) {
	switch {
	case kind == vk.QUERY_TYPE_PIPELINE_STATISTICS:
		return nil, vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkQueryPoolCreateInfo_queryType_00791,
			"%v needs the pipelineStatisticsQuery feature", kind)
	case kind != vk.QUERY_TYPE_TIMESTAMP && kind != vk.QUERY_TYPE_OCCLUSION:
		return nil, vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkQueryPoolCreateInfo_queryType_parameter,
			"queries of type %v need an extension that the device does not have", kind)
	case count == 0:
		return nil, vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkQueryPoolCreateInfo_queryCount_02763, "a pool of 0 queries")
	case count > maxQueries:
		return nil, vk.Errorf(vk.ERROR_OUT_OF_HOST_MEMORY, vk.NoVUID, "%d queries are more than a pool holds, %d", count,
			maxQueries)
	}
	return &QueryPool{kind: kind, queries: make([]query, count)}, nil
}

// QueryRules are the rules of a command about queries and results. Those that do not apply to it are empty.
type QueryRules struct {
	Type    vk.VUID // the pool has timestamps
	First   vk.VUID // the first query exists
	Last    vk.VUID // so does the last one
	Flags   vk.VUID // the flags exist
	Partial vk.VUID // timestamps have no partial results
	Stride  vk.VUID // several results lie apart
	Room    vk.VUID // all results fit
	Views   vk.VUID // there is a query for each view of the pass
}

// The rules of the commands about queries.
var (
	ResetQueryPoolRules = QueryRules{
		First: vk.VUID_vkResetQueryPool_firstQuery_09436, Last: vk.VUID_vkResetQueryPool_firstQuery_09437,
	}
	GetQueryPoolResultsRules = QueryRules{
		First: vk.VUID_vkGetQueryPoolResults_firstQuery_09436, Last: vk.VUID_vkGetQueryPoolResults_firstQuery_09437,
		Flags: vk.VUID_vkGetQueryPoolResults_flags_parameter, Partial: vk.VUID_vkGetQueryPoolResults_queryType_09439,
		Stride: vk.VUID_vkGetQueryPoolResults_queryCount_09438, Room: vk.VUID_vkGetQueryPoolResults_dataSize_00817,
	}
	cmdResetQueryPoolRules = QueryRules{
		First: vk.VUID_vkCmdResetQueryPool_firstQuery_09436, Last: vk.VUID_vkCmdResetQueryPool_firstQuery_09437,
	}
	CmdWriteTimestampRules = QueryRules{
		Type: vk.VUID_vkCmdWriteTimestamp_queryPool_01416, First: vk.VUID_vkCmdWriteTimestamp_query_04904,
		Views: vk.VUID_vkCmdWriteTimestamp_query_00831,
	}
	cmdWriteTimestamp2Rules = QueryRules{
		Type: vk.VUID_vkCmdWriteTimestamp2_queryPool_03861, First: vk.VUID_vkCmdWriteTimestamp2_query_04903,
		Views: vk.VUID_vkCmdWriteTimestamp2_query_03865,
	}
	cmdCopyQueryPoolResultsRules = QueryRules{
		First: vk.VUID_vkCmdCopyQueryPoolResults_firstQuery_09436, Last: vk.VUID_vkCmdCopyQueryPoolResults_firstQuery_09437,
		Flags: vk.VUID_vkCmdCopyQueryPoolResults_flags_parameter, Partial: vk.VUID_vkCmdCopyQueryPoolResults_queryType_09439,
		Stride: vk.VUID_vkCmdCopyQueryPoolResults_queryCount_09438, Room: vk.VUID_vkCmdCopyQueryPoolResults_dstBuffer_00824,
	}
)

// Reset makes count queries from first on unavailable.
func (p *QueryPool) Reset(first, count uint32, rules *QueryRules) error {
	queries, err := p.slice(first, count, rules)
	if err != nil {
		return err
	}
	for i := range queries {
		queries[i].available.Store(false)
	}
	return nil
}

// Write makes a timestamp query available with the given value and wakes who waits for it.
func (p *QueryPool) Write(index uint32, value uint64, rules *QueryRules) error {
	if p.kind != vk.QUERY_TYPE_TIMESTAMP {
		return vk.Errorf(vk.ERROR_UNKNOWN, rules.Type, "the pool's queries are of type %v", p.kind)
	}
	if int(index) >= len(p.queries) {
		return vk.Errorf(vk.ERROR_UNKNOWN, rules.First,
			"query %d does not exist, the pool has %d", index, len(p.queries))
	}
	q := &p.queries[index]
	q.value.Store(value)
	q.available.Store(true)
	// A waiter counts itself before it looks at the query: either it sees the availability or is seen here.
	if p.waiting.Load() != 0 {
		p.wake(index)
	}
	return nil
}

func (p *QueryPool) wake(index uint32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	kept := p.waiters[:0]
	for _, w := range p.waiters {
		if w.query == index {
			_ = w.ready.Signal(1) // a fence's signal does not fail
		} else {
			kept = append(kept, w)
		}
	}
	clear(p.waiters[len(kept):])
	p.waiters = kept
	p.waiting.Store(int32(len(kept)))
}

// Results writes the results of count queries from first on to dst, stride bytes apart, as flags ask (chapter
// "Query Operation"). With VK_QUERY_RESULT_WAIT_BIT it blocks until all are available, or stop is signalled:
// VK_ERROR_DEVICE_LOST. Without, it fails with ErrNotReady when one is not available, after writing the others
// and every availability asked for. Nothing outside dst is written, whatever the arguments.
func (p *QueryPool) Results(first, count uint32, dst []byte, stride uint64, flags vk.QueryResultFlags,
	stop *syncobj.Payload, rules *QueryRules) error {
	queries, err := p.slice(first, count, rules)
	if err != nil {
		return err
	}
	size := uint64(4)
	if flags&vk.QUERY_RESULT_64_BIT != 0 {
		size = 8
	}
	n := p.results()
	result := size * uint64(n)
	if flags&vk.QUERY_RESULT_WITH_AVAILABILITY_BIT != 0 {
		result += size
	}
	if err := p.checkResults(count, uint64(len(dst)), stride, result, flags, rules); err != nil {
		return err
	}
	if flags&vk.QUERY_RESULT_WAIT_BIT != 0 {
		// Queues write queries mostly in ascending order: who waits for the last one first wakes once.
		for i := count; i > 0; i-- {
			if err := p.wait(first+i-1, stop); err != nil {
				return err
			}
		}
	}
	var outcome error
	for i := range queries {
		at := dst[uint64(i)*stride:]
		available := queries[i].available.Load()
		switch {
		case available:
			for k := range n {
				put(at[uint64(k)*size:], size, p.result(first+uint32(i), k))
			}
		case flags&vk.QUERY_RESULT_PARTIAL_BIT != 0:
			clear(at[:size*uint64(n)]) // between 0 and the final result
		default:
			outcome = ErrNotReady
		}
		if flags&vk.QUERY_RESULT_WITH_AVAILABILITY_BIT != 0 {
			var v uint64
			if available {
				v = 1
			}
			put(at[size*uint64(n):], size, v)
		}
	}
	return outcome
}

// checkResults holds a request for count results of the given size to its rules.
func (p *QueryPool) checkResults(count uint32, room, stride, size uint64, flags vk.QueryResultFlags,
	rules *QueryRules) error {
	switch {
	case flags&^resultFlags != 0:
		return vk.Errorf(vk.ERROR_UNKNOWN, rules.Flags, "flags %v", flags)
	case flags&vk.QUERY_RESULT_PARTIAL_BIT != 0 && p.kind == vk.QUERY_TYPE_TIMESTAMP:
		return vk.Errorf(vk.ERROR_UNKNOWN, rules.Partial, "a timestamp has no partial result")
	case count > 1 && stride == 0:
		return vk.Errorf(vk.ERROR_UNKNOWN, rules.Stride, "%d results with a stride of 0", count)
	case count == 0:
		return nil
	}
	over, last := bits.Mul64(stride, uint64(count-1))
	if over != 0 || room < size || last > room-size {
		return vk.Errorf(vk.ERROR_UNKNOWN, rules.Room,
			"%d results of %d bytes, %d bytes apart, do not fit in %d bytes", count, size, stride, room)
	}
	return nil
}

// wait blocks until a query is available or stop is signalled.
func (p *QueryPool) wait(index uint32, stop *syncobj.Payload) error {
	q := &p.queries[index]
	for !q.available.Load() {
		if p.kind != vk.QUERY_TYPE_TIMESTAMP && !p.drawn {
			return vk.Errorf(vk.ERROR_UNKNOWN, vk.NoVUID,
				"no queue can make query %d available, whose type is %v: waiting would never end", index, p.kind)
		}
		points := [1]syncobj.Point{{Payload: p.register(index)}}
		if err := syncobj.Wait(points[:], true, math.MaxUint64, stop); err != nil {
			p.wake(index) // nobody is left waiting: the device is lost for all
			return vk.Errorf(vk.ERROR_DEVICE_LOST, vk.NoVUID, "query %d did not become available: %w", index, err)
		}
	}
	return nil
}

// register returns a fence payload that is signalled once a query is available. Whoever made it available before the
// registration could be seen has told nobody: that is why the query is looked at once more.
func (p *QueryPool) register(index uint32) *syncobj.Payload {
	w := waiter{index, syncobj.New(syncobj.Fence, 0)}
	p.mu.Lock()
	p.waiters = append(p.waiters, w)
	p.waiting.Store(int32(len(p.waiters)))
	p.mu.Unlock()
	if p.queries[index].available.Load() {
		p.wake(index)
	}
	return w.ready
}

// slice returns the queries of a range.
func (p *QueryPool) slice(first, count uint32, rules *QueryRules) ([]query, error) {
	n := uint32(len(p.queries))
	if first >= n {
		return nil, vk.Errorf(vk.ERROR_UNKNOWN, rules.First, "query %d does not exist, the pool has %d", first, n)
	}
	if count > n-first {
		return nil, vk.Errorf(vk.ERROR_UNKNOWN, rules.Last,
			"%d queries from number %d on are more than the pool of %d has", count, first, n)
	}
	return p.queries[first : first+count], nil
}

// put stores the low size bytes of v, 4 or 8.
func put(at []byte, size, v uint64) {
	if size == 8 {
		binary.LittleEndian.PutUint64(at, v)
	} else {
		binary.LittleEndian.PutUint32(at, uint32(v))
	}
}
