"""`python -m rocmdoctor`."""

from rocmdoctor.cli import main

if __name__ == "__main__":
    main()
