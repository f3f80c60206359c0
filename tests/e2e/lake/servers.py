"""Configurations for a cluster of ClickHouse on loopback ports: servers.py FOLDER PORT...

Server I has its files in FOLDER/I. It also uses the two ports after its own.
"""
import os
import sys

folder, *ports = sys.argv[1:]
shards = ''.join(f'<shard><replica><host>127.0.0.1</host><port>{port}</port></replica></shard>'
                 for port in ports)
for i, port in enumerate(ports):
    at = f'{folder}/{i}'
    os.makedirs(at)
    with open(at + '/config.xml', 'w') as out:
        out.write(f'''<yandex>
<logger><level>warning</level><log>{at}/log</log><errorlog>{at}/errors</errorlog></logger>
<tcp_port>{port}</tcp_port><http_port>{int(port) + 1}</http_port>
<interserver_http_port>{int(port) + 2}</interserver_http_port>
<listen_host>127.0.0.1</listen_host><interserver_http_host>127.0.0.1</interserver_http_host>
<path>{at}/data/</path><tmp_path>{at}/tmp/</tmp_path><users_config>{at}/users.xml</users_config>
<default_profile>default</default_profile><default_database>default</default_database>
<mark_cache_size>16777216</mark_cache_size><max_concurrent_queries>20</max_concurrent_queries>
<remote_servers><verbatim>{shards}</verbatim></remote_servers></yandex>''')
    with open(at + '/users.xml', 'w') as out:
        out.write('''<yandex><profiles><default/></profiles><quotas><default/></quotas>
<users><default><password/><networks><ip>127.0.0.1</ip></networks><profile>default</profile>
<quota>default</quota></default></users></yandex>''')
