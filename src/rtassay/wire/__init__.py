"""The wire between board and host: bytes of a stream (wire/STREAM.md) to model events, every version ever written."""
