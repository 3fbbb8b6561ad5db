"""`python -m specgen.bench`: measures built folders where only numpy and a Vulkan loader are installed."""

import sys

from specgen.bench.command import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], "python -m specgen.bench"))
