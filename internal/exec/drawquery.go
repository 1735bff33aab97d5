package exec

import (
	"math/bits"

	"farside/internal/command"
	"farside/internal/draw"
	"farside/internal/vk"
)

// Queries of draws: occlusion, whose counts are always precise, and pipeline statistics. Between begin and end they are
// on the replay's list. Each draw adds what it has counted, also in secondary command buffers. With several views
// (multiview) a query is as many as there are; the first has all of the result (chapter "Queries", vkCmdBeginQuery).

// allStatistics are the statistics that draw.Statistics counts, by bit number.
const allStatistics = vk.QUERY_PIPELINE_STATISTIC_INPUT_ASSEMBLY_VERTICES_BIT |
	vk.QUERY_PIPELINE_STATISTIC_INPUT_ASSEMBLY_PRIMITIVES_BIT | vk.QUERY_PIPELINE_STATISTIC_VERTEX_SHADER_INVOCATIONS_BIT |
	vk.QUERY_PIPELINE_STATISTIC_GEOMETRY_SHADER_INVOCATIONS_BIT |
	vk.QUERY_PIPELINE_STATISTIC_GEOMETRY_SHADER_PRIMITIVES_BIT | vk.QUERY_PIPELINE_STATISTIC_CLIPPING_INVOCATIONS_BIT |
	vk.QUERY_PIPELINE_STATISTIC_CLIPPING_PRIMITIVES_BIT | vk.QUERY_PIPELINE_STATISTIC_FRAGMENT_SHADER_INVOCATIONS_BIT |
	vk.QUERY_PIPELINE_STATISTIC_TESSELLATION_CONTROL_SHADER_PATCHES_BIT |
	vk.QUERY_PIPELINE_STATISTIC_TESSELLATION_EVALUATION_SHADER_INVOCATIONS_BIT |
	vk.QUERY_PIPELINE_STATISTIC_COMPUTE_SHADER_INVOCATIONS_BIT

// activeQuery is a query that has begun.
type activeQuery struct {
	pool  *QueryPool
	index uint32
	views uint32 // how many queries it is
	// precise queries of occlusion were asked for.
	precise bool
	// secondary ones were begun by a secondary command buffer.
	secondary bool
	// What it has counted: for occlusion the samples are Samples, for statistics all is by bit number.
	counted draw.Statistics
}

// count adds what a draw has counted.
func (q *activeQuery) count(s *draw.Statistics) {
	q.counted.Samples += s.Samples
	for i, n := range s.Counts {
		q.counted.Counts[i] += n
	}
}

// dispatched counts the invocations of a compute shader.
func (g *graphics) dispatched(groups, size [3]uint32) {
	const invocations = 10 // the bit number of VK_QUERY_PIPELINE_STATISTIC_COMPUTE_SHADER_INVOCATIONS_BIT
	for i := range g.queries {
		n := uint64(groups[0]) * uint64(groups[1]) * uint64(groups[2])
		g.queries[i].counted.Counts[invocations] += n * uint64(size[0]) * uint64(size[1]) * uint64(size[2])
	}
}

// NewDrawQueryPool returns a pool of count queries that draws answer: of occlusion, or of the given statistics.
func NewDrawQueryPool(kind vk.QueryType, count uint32, statistics vk.QueryPipelineStatisticFlags) (*QueryPool, error) {
	switch {
	case kind == vk.QUERY_TYPE_OCCLUSION:
		statistics = 0
	case kind != vk.QUERY_TYPE_PIPELINE_STATISTICS:
		return NewQueryPool(kind, count)
	case statistics == 0:
		return nil, vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkQueryPoolCreateInfo_queryType_09534, "a pool of no statistics")
	case statistics&^allStatistics != 0:
		return nil, vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkQueryPoolCreateInfo_queryType_00792,
			"statistics %v need extensions that the device does not have", statistics&^allStatistics)
	}
	numbers := uint64(bits.OnesCount32(uint32(statistics)))
	if uint64(count)*numbers > maxQueries {
		return nil, vk.Errorf(vk.ERROR_OUT_OF_HOST_MEMORY, vk.NoVUID,
			"%d queries of %d numbers are more than a pool holds, %d", count, numbers, maxQueries)
	}
	// An occlusion query has the same rules as to how many there may be.
	p, err := NewQueryPool(vk.QUERY_TYPE_OCCLUSION, count)
	if err != nil {
		return nil, err
	}
	p.kind, p.drawn, p.statistics = kind, true, statistics
	p.more = make([]uint64, uint64(count)*numbers)
	return p, nil
}

// results is how many numbers a query's result has.
func (p *QueryPool) results() int {
	if p.kind == vk.QUERY_TYPE_PIPELINE_STATISTICS {
		return bits.OnesCount32(uint32(p.statistics))
	}
	return 1
}

// result is number n of a query's result.
func (p *QueryPool) result(index uint32, n int) uint64 {
	if p.kind == vk.QUERY_TYPE_PIPELINE_STATISTICS {
		return p.more[int(index)*p.results()+n]
	}
	return p.queries[index].value.Load()
}

// finish makes a query, which may be several, available with what was counted.
func (p *QueryPool) finish(index, views uint32, s *draw.Statistics) {
	for i := index; i < index+views; i++ {
		if p.kind == vk.QUERY_TYPE_PIPELINE_STATISTICS {
			at := p.more[int(i)*p.results():]
			for n, set := 0, uint32(p.statistics); set != 0; n, set = n+1, set&(set-1) {
				at[n] = s.Counts[bits.TrailingZeros32(set)]
			}
		} else {
			p.queries[i].value.Store(s.Samples)
		}
		p.queries[i].available.Store(true)
		if p.waiting.Load() != 0 {
			p.wake(i)
		}
		s = new(draw.Statistics) // the other views
	}
}

// views is how many queries one is in the render pass under way.
func (r *replay) views() uint32 {
	if r.pass == nil || r.pass.ViewMask == 0 {
		return 1
	}
	return uint32(bits.OnesCount32(r.pass.ViewMask))
}

func (r *replay) beginQuery(c *command.BeginQuery) error {
	p, err := r.pool(c.QueryPool, vk.VUID_vkCmdBeginQuery_queryPool_parameter)
	if err != nil {
		return err
	}
	n := uint64(len(p.queries))
	views := r.views()
	switch {
	case p.kind == vk.QUERY_TYPE_TIMESTAMP:
		return invalid(vk.VUID_vkCmdBeginQuery_queryType_02804, "query %d is a timestamp, which has no begin", c.Query)
	case uint64(c.Query) >= n:
		return invalid(vk.VUID_vkCmdBeginQuery_query_00802, "query %d does not exist, the pool has %d", c.Query, n)
	case uint64(c.Query)+uint64(views) > n:
		return invalid(vk.VUID_vkCmdBeginQuery_query_00808, "%d views from query %d on are more than the pool of %d has",
			views, c.Query, n)
	case c.Flags&^vk.QUERY_CONTROL_PRECISE_BIT != 0:
		return invalid(vk.VUID_vkCmdBeginQuery_flags_parameter, "flags %v", c.Flags)
	case c.Flags != 0 && p.kind != vk.QUERY_TYPE_OCCLUSION:
		return invalid(vk.VUID_vkCmdBeginQuery_queryType_00800, "queries of type %v are not precise", p.kind)
	}
	g := &r.graphics
	for i := range g.queries {
		switch q := &g.queries[i]; {
		case q.pool.kind != p.kind:
		case g.secondary && !q.secondary:
			return invalid(vk.VUID_vkCmdExecuteCommands_commandBuffer_00104,
				"a secondary command buffer begins a query of type %v, and one is active", p.kind)
		default:
			return invalid(vk.VUID_vkCmdBeginQuery_queryPool_01922, "a query of type %v is active already", p.kind)
		}
	}
	for i := c.Query; i < c.Query+views; i++ {
		p.queries[i].available.Store(false)
	}
	g.queries = append(g.queries, activeQuery{pool: p, index: c.Query, views: views, precise: c.Flags != 0,
		secondary: g.secondary})
	return nil
}

func (r *replay) endQuery(c *command.EndQuery) error {
	p, err := r.pool(c.QueryPool, vk.VUID_vkCmdEndQuery_queryPool_parameter)
	if err != nil {
		return err
	}
	g := &r.graphics
	for i := range g.queries {
		q := &g.queries[i]
		if q.pool != p || q.index != c.Query {
			continue
		}
		p.finish(q.index, q.views, &q.counted)
		last := len(g.queries) - 1
		g.queries[i] = g.queries[last]
		g.queries[last] = activeQuery{}
		g.queries = g.queries[:last]
		return nil
	}
	return invalid(vk.VUID_vkCmdEndQuery_None_01923, "query %d is not active", c.Query)
}
