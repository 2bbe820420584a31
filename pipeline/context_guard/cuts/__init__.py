"""Where the material itself has its borders: one module a kind of output, each a pure function from lines to pieces.

A kind is recognised by cheap evidence (`kinds.py`); what none of them knows is cut into windows, as ever.
"""
