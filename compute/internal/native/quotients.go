package native

// Quotients and remainders of 64 bits, which there are no instructions on vectors for, go lane by lane. High words of
// products don't.

// notNegative is of a jump behind test.
const notNegative condition = 9

// byLane makes an operation of what write does: it has A and B in rax and rcx, and leaves the result in rax.
func byLane(write func(c *compiler)) func(c *compiler) {
	return func(c *compiler) {
		a, b := c.scratch+placeOfAddresses, c.scratch+placeOfValues
		c.store(at(file, a), c.vector(0, spare[0]))
		c.store(at(file, b), c.vector(1, spare[1]))
		c.fromLanes(c.result, func(lane int32) {
			c.load64(rax, at(file, a+8*lane))
			c.load64(rcx, at(file, b+8*lane))
			write(c)
		})
	}
}

// The members of a group of instructions on rax, rdx and an operand.
const (
	negates      = 3
	divides      = 6
	dividesSigns = 7
)

func (c *compiler) unary(member uint8, r general) { c.integer(true, 0xf7, member, reg(vector(r)), 0) }

func (c *compiler) copy(dst, from general) { c.integer(true, 0x8b, uint8(dst), reg(vector(from)), 0) }

// highWord makes the high words of products: the sum of those of words with their places. Without signs they are too
// great by the other factor where one is negative.
func highWord(signed bool) func(c *compiler) {
	return func(c *compiler) {
		a, b, sum, t := c.vector(0, spare[0]), c.vector(1, spare[1]), spare[2], spare[3]
		c.two(vpmuludq, sum, a, reg(b))
		c.shift(shift64, right, sum, sum, 32)
		c.shift(shift64, right, t, a, 32)
		c.two(vpmuludq, t, t, reg(b))
		c.two(vpaddq, sum, sum, reg(t))
		c.shift(shift64, right, t, b, 32)
		c.two(vpmuludq, t, t, reg(a))
		high, u := spare[0], spare[1]
		c.shift(shift64, right, high, a, 32)
		c.shift(shift64, right, u, b, 32)
		c.two(vpmuludq, high, high, reg(u))
		c.two(vpand, u, sum, c.quads(1<<32-1))
		c.two(vpaddq, t, t, reg(u))
		for _, carry := range []vector{sum, t} {
			c.shift(shift64, right, carry, carry, 32)
		}
		c.two(vpaddq, high, high, reg(sum))
		if !signed {
			c.two(vpaddq, c.result(), high, reg(t))
			return
		}
		c.two(vpaddq, sum, high, reg(t))
		a, b = c.vector(0, spare[0]), c.vector(1, spare[1])
		for _, f := range [][2]vector{{a, b}, {b, a}} {
			c.signsOf(t, f[0])
			c.two(vpand, t, t, reg(f[1]))
			c.two(vpsubq, sum, sum, reg(t))
		}
		c.move(c.result(), reg(sum))
	}
}

// divideWide divides, and gives the quotient or the remainder. What is divided by 0 is all ones, or what it was.
func divideWide(signed, remainder bool, then func(c *compiler)) func(c *compiler) {
	return byLane(func(c *compiler) {
		zero, done := c.label(), c.label()
		c.test(rcx)
		c.jumpIf(equal, zero)
		if signed {
			// The processor raises an exception where the quotient of the least number by -1 has no place.
			minus := c.label()
			c.arithmetic(compares, rcx, -1)
			c.jumpIf(equal, minus)
			c.behind(minus, done, func() {
				if remainder {
					c.zero(rax)
				} else {
					c.unary(negates, rax)
				}
			})
			c.bytes(0x48, 0x99) // CQO
			c.unary(dividesSigns, rcx)
		} else {
			c.zero(rdx)
			c.unary(divides, rcx)
		}
		if remainder {
			c.copy(rax, rdx)
		}
		if then != nil {
			then(c)
		}
		c.place(done)
		c.behind(zero, done, func() {
			if !remainder {
				c.zero(rax)
				c.arithmetic(subtracts, rax, 1)
			}
		})
	})
}

// roundDown adds rcx to the remainder in rax, if that has another sign.
func roundDown(c *compiler) {
	same := c.label()
	c.test(rax)
	c.jumpIf(equal, same)
	c.copy(rdx, rax)
	c.xor(rdx, rcx)
	c.test(rdx)
	c.jumpIf(notNegative, same)
	c.add(rax, rcx)
	c.place(same)
}
