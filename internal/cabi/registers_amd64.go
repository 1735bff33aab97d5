package cabi

// intRegisters is how many integer arguments the System V calling convention passes in registers.
const intRegisters = 6
