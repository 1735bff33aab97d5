package compute

import "farside/spirv"

type imageOperand struct{}
type texelOperand struct{}

func (c *compiler) imageOf(p *pointer) *imageOperand {
	c.fail(nil, "images are not supported")
	return nil
}
func (c *compiler) imageAtomic(i *spirv.Instruction, p *pointer) { c.fail(i, "is not supported") }
func (c *compiler) texelPointer(i *spirv.Instruction)            { c.fail(i, "is not supported") }
func (c *compiler) lowerImage(i *spirv.Instruction) bool         { return false }
func (c *compiler) lowerSubgroup(i *spirv.Instruction) bool      { return false }
func (c *compiler) lowerPrint(i *spirv.Instruction)              { c.fail(i, "is not supported") }
