"""Counting the frames of a GIF without decoding one.

Pillow's count has no limit: a 10 MB file of 700,000 tiny frames keeps it busy for seconds, inside a request.
Block layout: GIF89a specification, https://www.w3.org/Graphics/GIF/spec-gif89a.txt
"""

_EXTENSION, _FRAME, _END = 0x21, 0x2C, 0x3B
_HEADER_LENGTH, _FRAME_LENGTH = 13, 10


def count_gif_frames(data: bytes, stop: int) -> int:
    """The number of frames, or `stop` as soon as there are that many. Raises IndexError when a block is cut off."""
    position = _HEADER_LENGTH + _palette_length(data[10])
    frames = 0
    while position < len(data) and frames < stop and data[position] != _END:
        if data[position] == _EXTENSION:
            position = _after_blocks(data, position + 2)
        elif data[position] == _FRAME:
            frames += 1
            blocks = position + _FRAME_LENGTH + _palette_length(data[position + 9]) + 1
            position = _after_blocks(data, blocks)
        else:
            position += 1  # padding between blocks, which decoders skip
    return frames


def _palette_length(flags: int) -> int:
    return 3 << ((flags & 7) + 1) if flags & 0x80 else 0


def _after_blocks(data: bytes, position: int) -> int:
    while data[position]:
        position += data[position] + 1
    return position + 1
