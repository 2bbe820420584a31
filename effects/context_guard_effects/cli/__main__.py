from context_guard_effects.cli import main

if __name__ == "__main__":  # the processes of an audit import this module too
    main()
