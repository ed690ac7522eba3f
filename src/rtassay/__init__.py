"""rtassay: does this board, with this kernel, under this load, meet my deadline, and if not, what broke it?"""

__version__ = "0.1.0"
