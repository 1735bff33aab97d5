package spirv

// dominators is the dominator tree of a graph whose entry is node 0.
type dominators struct {
	idom []int // -1 for the entry and for what can't be reached
	// A preorder number of the tree and the largest one below, from 1; 0 is not reached.
	first, last []int
}

func (d *dominators) reached(b int) bool { return d.first[b] != 0 }

func (d *dominators) dominates(a, b int) bool {
	return d.first[a] != 0 && d.first[a] <= d.first[b] && d.first[b] <= d.last[a]
}

// findDominators is Lengauer and Tarjan's algorithm, in its simple form: a module can make the well-known iterative
// one quadratic.
func findDominators(successors [][]int) dominators {
	n := len(successors)
	d := dominators{idom: make([]int, n), first: make([]int, n), last: make([]int, n)}
	t := tree{
		number: make([]int, n), parent: make([]int, n), semi: make([]int, n), ancestor: make([]int, n), label: make([]int, n),
	}
	for b := range n {
		d.idom[b], t.number[b] = -1, -1
	}
	vertex := t.search(successors)
	predecessors := make([][]int, n)
	for _, b := range vertex {
		for _, s := range successors[b] {
			predecessors[s] = append(predecessors[s], b)
		}
	}
	buckets := make([][]int, n) // by vertex: those whose semidominator it is
	for i := len(vertex) - 1; i > 0; i-- {
		w := vertex[i]
		for _, v := range predecessors[w] {
			t.semi[w] = min(t.semi[w], t.semi[t.evaluate(v)])
		}
		s := vertex[t.semi[w]]
		buckets[s] = append(buckets[s], w)
		p := t.parent[w]
		t.ancestor[w] = p
		for _, v := range buckets[p] {
			if u := t.evaluate(v); t.semi[u] < t.semi[v] {
				d.idom[v] = u
			} else {
				d.idom[v] = p
			}
		}
		buckets[p] = nil
	}
	for _, w := range vertex[1:] {
		if d.idom[w] != vertex[t.semi[w]] {
			d.idom[w] = d.idom[d.idom[w]]
		}
	}
	d.count(vertex)
	return d
}

// count gives the intervals of the tree's preorder: a node's is its parent's, cut into the sizes of the subtrees.
func (d *dominators) count(vertex []int) {
	size := make([]int, len(d.idom))
	for i := len(vertex) - 1; i >= 0; i-- {
		w := vertex[i]
		size[w]++
		if i > 0 {
			size[d.idom[w]] += size[w]
		}
	}
	next := make([]int, len(d.idom)) // the number that the next child gets
	for i, w := range vertex {
		if i == 0 {
			d.first[w] = 1
		} else {
			p := d.idom[w]
			d.first[w] = next[p]
			next[p] += size[w]
		}
		d.last[w] = d.first[w] + size[w] - 1
		next[w] = d.first[w] + 1
	}
}

// tree is the depth-first tree in which Lengauer and Tarjan's algorithm looks for semidominators.
type tree struct {
	number          []int // in depth-first order, or -1
	parent          []int
	semi            []int // the number of the semidominator
	ancestor, label []int // of the forest; -1 for a root
	path            []int
}

func (t *tree) search(successors [][]int) []int {
	type frame struct{ block, next int }
	var vertex []int
	visit := func(b, parent int) {
		t.number[b], t.semi[b], t.parent[b], t.ancestor[b], t.label[b] = len(vertex), len(vertex), parent, -1, b
		vertex = append(vertex, b)
	}
	visit(0, -1)
	stack := []frame{{}}
	for len(stack) > 0 {
		top := &stack[len(stack)-1]
		if top.next == len(successors[top.block]) {
			stack = stack[:len(stack)-1]
			continue
		}
		b := successors[top.block][top.next]
		top.next++
		if t.number[b] < 0 {
			visit(b, top.block)
			stack = append(stack, frame{block: b})
		}
	}
	return vertex
}

// evaluate gives the node with the smallest semidominator on v's way to the root of its tree in the forest, the root
// left out, and shortens the way.
func (t *tree) evaluate(v int) int {
	if t.ancestor[v] < 0 {
		return v
	}
	t.path = t.path[:0]
	for u := v; t.ancestor[t.ancestor[u]] >= 0; u = t.ancestor[u] {
		t.path = append(t.path, u)
	}
	for i := len(t.path) - 1; i >= 0; i-- {
		u := t.path[i]
		a := t.ancestor[u]
		if t.semi[t.label[a]] < t.semi[t.label[u]] {
			t.label[u] = t.label[a]
		}
		t.ancestor[u] = t.ancestor[a]
	}
	return t.label[v]
}
