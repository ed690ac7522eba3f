from rtassay.cli.main import main

main()
