"""Options, which are accepted."""

import gradtape as tf

distribute = tf.distribute


def test_options_are_accepted():
    for ops in (
        distribute.NcclAllReduce(num_packs=2),
        distribute.HierarchicalCopyAllReduce(),
        distribute.ReductionToOneDevice("/cpu:0"),
        distribute.CrossDeviceOps(),
    ):
        assert isinstance(ops, distribute.CrossDeviceOps)
        strategy = distribute.MirroredStrategy(["/cpu:0"], cross_device_ops=ops)
    mode = distribute.InputReplicationMode.PER_REPLICA
    options = distribute.InputOptions(experimental_replication_mode=mode)
    assert options.experimental_replication_mode is mode
    strategy.experimental_distribute_dataset(tf.data.Dataset.range(2).batch(2), options)
    assert strategy.run(lambda: 3, options=distribute.RunOptions()) == 3
    communication = distribute.experimental.CommunicationOptions(
        bytes_per_pack=1, implementation=distribute.experimental.CommunicationImplementation.NCCL
    )
    assert communication.bytes_per_pack == 1
    distribute.MultiWorkerMirroredStrategy(communication_options=communication)
    assert distribute.experimental.CollectiveHints(bytes_per_pack=1).bytes_per_pack == 1
    assert distribute.experimental.CollectiveCommunication.RING.value == "RING"


def test_values_of_a_function():
    strategy = distribute.get_strategy()
    value = strategy.experimental_distribute_values_from_function(
        lambda context: tf.constant([context.replica_id_in_sync_group, 7])
    )
    assert strategy.experimental_local_results(value)[0].numpy().tolist() == [0, 7]
