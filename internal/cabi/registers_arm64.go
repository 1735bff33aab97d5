package cabi

// intRegisters is how many integer arguments the AAPCS64 calling convention passes in registers.
const intRegisters = 8
