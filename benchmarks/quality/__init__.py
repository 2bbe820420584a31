"""How much of what is needed each way of cutting keeps, and at what size: own labelled outputs and real sessions."""
