"""`python -m specgen`."""

import importlib.util
import sys

if __name__ == "__main__":
    if sys.argv[1:2] == ["bench"] and importlib.util.find_spec("click") is None:
        # A host that only measures built folders has numpy and a Vulkan loader, and no library for command lines.
        from specgen.bench.command import main as bench

        sys.exit(bench(sys.argv[2:], "python -m specgen bench"))
    from specgen.cli.main import main

    main()
