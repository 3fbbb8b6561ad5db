"""What every machine opcode means, written from the instruction-set manuals, and programs that test it."""
