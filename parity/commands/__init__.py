"""What `parity COMMAND` runs, a module for each; baseline/ and history/ have their own."""
